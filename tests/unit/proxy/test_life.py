"""The life of a connection: ended with everything below it, tried again, followed through a new configuration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller
from ot.config.models import Config
from ot.errors import ServerUnavailableError, SwitchedOffError, ToolTimeoutError, UnknownPackError
from ot.execution.wording import word_error
from ot.proxy.connections.connect_attempt import LONGEST, Backoff
from tests.longer import long_after
from tests.opened_executor import wait_until
from tests.proxied import PROGRAMS, open_proxied, program

pytestmark = pytest.mark.anyio


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def wait_until_gone(*pids: int) -> None:
    with anyio.fail_after(60):
        while any(map(is_alive, pids)):
            await anyio.sleep(0.02)


async def test_a_closed_server_is_gone_with_everything_that_it_started(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"parent": program("with_children")}) as proxied:
        pids = [int(pid) for pid in (await proxied.call("parent.echo")).split()]
        assert all(map(is_alive, pids))

    await wait_until_gone(*pids)


HOLD = """
import anyio, sys
from pathlib import Path
from tests.proxied import open_proxied, program

async def main():
    async with open_proxied(Path(sys.argv[1]), {"parent": program("with_children")}) as proxied:
        print(await proxied.call("parent.echo"), flush=True)
        await anyio.sleep(600)

anyio.run(main)
"""


@pytest.mark.parametrize("how", long_after(1, [signal.SIGKILL, signal.SIGTERM]))
async def test_servers_end_with_us_even_if_we_are_killed(tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=PROGRAMS.parents[2], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(how)

        assert len(pids) == 2
        await wait_until_gone(*pids)


@pytest.mark.parametrize("words", [(), ("for-good",)], ids=["until SIGTERM", "for good"])
async def test_a_server_that_ignores_the_end_is_left_to_its_guardian(tmp_path: Path, words: tuple[str, ...]) -> None:
    note = tmp_path / "note"
    settings = program("ignores_the_end", note, *words)
    async with open_proxied(tmp_path, {"stays": settings}) as proxied:
        pid = int(await proxied.call("stays.echo"))

    await wait_until_gone(pid)
    assert note.read_text() == "asked to end"


HOLD_ONE = HOLD.replace('program("with_children")', 'program("ignores_the_end", sys.argv[1] + "/note", "for-good")')


@pytest.mark.parametrize("how", long_after(1, [signal.SIGKILL, signal.SIGTERM]))
async def test_nothing_is_left_of_it_even_if_we_are_killed(tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_ONE, str(tmp_path)], cwd=PROGRAMS.parents[2], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(how)

        process.wait()
        await wait_until_gone(pid)
    assert (tmp_path / "note").read_text() == "asked to end"


async def test_the_state_is_true_the_moment_a_server_dies(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"parent": program("with_children")}) as proxied:
        pid = int((await proxied.call("parent.echo")).split()[0])
        before = proxied.status("parent").state
        os.kill(pid, signal.SIGKILL)
        with anyio.fail_after(60):
            while proxied.status("parent").state == "connected":
                await anyio.sleep(0.01)

        assert before == "connected"
        assert proxied.status("parent").state == "disconnected"
        await proxied.servers.probe(20)
        assert proxied.status("parent").state == "connected"


async def test_a_call_that_takes_too_long_is_cancelled_at_its_server(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async with open_proxied(tmp_path, {"slow": program("slow", journal, timeout=0.3)}) as proxied:
        with pytest.raises(ToolTimeoutError):
            await proxied.call("slow.wait", seconds=60)
        with anyio.fail_after(60):
            while not journal.exists():
                await anyio.sleep(0.01)
        assert proxied.status("slow").state == "connected", "only the call was given up"


async def test_a_server_that_fails_again_and_again_is_not_started_for_every_call(tmp_path: Path) -> None:
    counter = tmp_path / "starts"
    script = f"from pathlib import Path\nwith Path({str(counter)!r}).open('a') as f: f.write('x')\nraise SystemExit(7)"
    settings = {"command": sys.executable, "args": ["-c", script]}

    async with open_proxied(tmp_path, {"failing": settings}) as proxied:
        errors = []
        with anyio.fail_after(60):
            for _ in range(30):
                with pytest.raises(ServerUnavailableError) as caught:
                    await proxied.servers.choose("failing")[0].obtain()
                errors.append(caught.value)

    assert "exited with status 7 before it was ready" in errors[0].reason
    assert "tried again in" in errors[-1].reason
    assert len(counter.read_text()) < 20


async def test_a_server_that_could_not_be_started_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    late = tmp_path / "late_server.py"

    async with open_proxied(tmp_path, {"late": {"command": sys.executable, "args": [str(late)]}}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("late.echo", text="too early")
        late.write_text(f"import runpy\nrunpy.run_path({str(PROGRAMS / 'plain_server.py')!r}, run_name='__main__')\n")

        assert await proxied.call("late.echo", text="now") == "now"
    assert "late_server.py" in caught.value.tail


async def test_an_error_reads_well(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"crashing": program("crashing", tmp_path / "died")}) as proxied:
        with pytest.raises(ServerUnavailableError) as caught:
            await proxied.call("crashing.die")

    assert word_error(caught.value) == (
        "crashing.die: the server crashing exited with status 3. It is unknown whether the call had side effects. "
        "Call it again to reconnect; ot.health() shows the state of every server.\n"
        "Its stderr ended with:\n  Traceback: the disk is full"
    )


def test_each_failure_doubles_the_wait_up_to_a_limit() -> None:
    now = 100.0
    backoff = Backoff(lambda: now)
    waits = []
    for _ in range(10):
        backoff.fail()
        waits.append(backoff.remaining())

    assert waits[:4] == [0.0, 0.5, 1.0, 2.0]
    assert waits[-1] == LONGEST
    backoff.succeed()
    assert backoff.remaining() == 0.0


# -- a new configuration


async def test_a_new_configuration_leaves_calls_in_flight_alone(tmp_path: Path) -> None:
    slow, plain = program("slow", tmp_path / "journal"), program("plain_server")
    answers: list[str] = []

    async with open_proxied(tmp_path, {"slow": slow, "plain": plain}) as proxied:
        await proxied.call("slow.wait", seconds=0)
        (kept,) = proxied.servers.choose("plain")

        async def call() -> None:
            answers.append(await proxied.call("slow.hold", folder=str(tmp_path)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await wait_until((tmp_path / "begun").exists)
            settings = Config.model_validate({"servers": {"plain": plain, "other": plain}}).servers
            await proxied.servers.apply(settings)

            with pytest.raises(UnknownPackError):
                await proxied.call("slow.wait", seconds=0)
            assert await proxied.call("other.echo", text="new") == "new"
            assert proxied.servers.choose("plain") == [kept]
            assert not answers
            (tmp_path / "end").touch()

    assert answers == ["done"]


async def test_a_disabled_server_is_neither_started_nor_offered(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"off": program("plain_server", enabled=False)}) as proxied:
        await proxied.servers.probe()

        assert proxied.status("off").state == "disabled"
        with pytest.raises(SwitchedOffError) as called:
            await proxied.call("off.echo")
        with pytest.raises(SwitchedOffError) as chosen:
            proxied.servers.choose("off")
        assert [word_error(caught.value) for caught in (called, chosen)] == 2 * [
            "The server off is switched off. A person can switch it on in the configuration: servers.off.enabled: true."
        ]
        with pytest.raises(UnknownPackError) as unknown:
            await proxied.call("of.echo")
        assert "off" not in unknown.value.available


async def test_whoever_waits_for_a_server_is_told(tmp_path: Path) -> None:
    told: list[str] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        told.append(message)

    servers = {"plain": program("plain_server")}
    async with open_proxied(tmp_path, servers) as proxied:
        await proxied.call("plain.echo", text="x")
    servers["plain"]["args"] = [
        "-c",
        f"import time, runpy, sys; time.sleep(2.5); sys.path.insert(0, {str(PROGRAMS)!r}); runpy.run_path({servers['plain']['args'][0]!r}, run_name='__main__')",
    ]
    async with open_proxied(tmp_path, servers) as proxied:

        async def look(arguments: dict[str, Any]) -> None:
            await proxied.servers.choose("plain")[0].ask(lambda session: session.contents.prompts())

        from tests.opened_executor import define

        proxied.registry.register(define("test.look", timeout=0.5), look)
        await proxied.executor.call("test.look", {}, caller=Caller(progress=listen))

    assert "connecting to the server plain" in told
