"""Helper processes: reused, killed with their call, closed when idle, and gone with the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from ot.errors import ServiceUnavailableError, ToolError, ToolFailedError
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.logs import word_incident
from ot_kernel.values import UnsupportedValueError
from tests.e2e.processes import find_descendants
from tests.opened_executor import wait_until, write_pack

PACK = """
    import os, re, signal, sys, subprocess, time
    from pathlib import Path
    from ot.errors import ToolError

    def pid():
        return os.getpid()

    def echo(value):
        return value

    def environment():
        return dict(os.environ)

    def chatter():
        print("to stdout", flush=True)
        os.write(1, b"raw bytes\\n")
        subprocess.run(["echo", "from a child"], check=True)
        sys.stdout.write("unflushed")
        return "quiet"

    def hang(pid_file, marker):
        Path(pid_file).write_text(str(os.getpid()))
        time.sleep(60)
        Path(marker).write_text("arrived")

    def hang_in_child(pid_file):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        Path(pid_file).write_text(str(child.pid))
        child.wait()

    def hang_with_apart(pid_file):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        Path(pid_file).write_text(str(child.pid))
        child.wait()

    def hold_with_apart(pid_file):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        Path(pid_file).write_text(str(child.pid))
        re.fullmatch(r"(a|aa)+b", "a" * 100)

    def leave_child(pid_file):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        Path(pid_file).write_text(str(child.pid))
        return os.getpid()

    def leave_orphan(pid_file):
        start = f"{sys.executable} -c 'import time; time.sleep(60)' & echo $! > {pid_file}"
        subprocess.run(["setsid", "sh", "-c", start], check=True)
        return os.getpid()

    def crash():
        os.kill(os.getpid(), signal.SIGSEGV)

    def crash_with_words():
        print("to stdout", flush=True)
        sys.stderr.write("the disk is on fire")
        os._exit(7)

    def leave():
        sys.exit(3)

    def refuse():
        raise ToolError("no such table: people")

    def unreachable():
        raise ConnectionRefusedError("nobody listens")

    def broken():
        return {}["missing"]

    def hoard():
        return len(bytearray(2 * 1024**3))

    def handle():
        return open(os.devnull)

    def many():
        return (n * n for n in range(4))

    async def awaited():
        return "awaited"

    def read_stdin():
        return sys.stdin.read()
"""


@pytest.fixture
def pack(tmp_path: Path) -> str:
    return str(write_pack(tmp_path, PACK))


@pytest.fixture
def pid_file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "pid"
    yield file
    if file.exists() and alive(int(file.read_text())):
        os.kill(int(file.read_text()), signal.SIGKILL)


def alive(pid: int) -> bool:
    """A zombie counts as dead: it does nothing any more."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


async def test_the_second_call_uses_the_same_process(pack: str) -> None:
    async with IsolateHost() as host:
        first = await host.run(pack, "pid", {})

        assert await host.run(pack, "pid", {}) == first
        assert first != os.getpid()


async def test_a_process_has_no_keys_of_the_server(pack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    async with IsolateHost() as host:
        environ = await host.run(pack, "environment", {})

    assert "sk-secret" not in environ.values()
    assert environ["PATH"] == os.environ["PATH"]


async def test_calls_at_the_same_time_have_processes_of_their_own(pack: str) -> None:
    found: list[int] = []

    async def call(host: IsolateHost) -> None:
        found.append(await host.run(pack, "pid", {}))

    async with IsolateHost() as host, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(call, host)

    assert len(set(found)) == 2


async def test_values_of_every_kind_cross_in_both_directions(pack: str) -> None:
    value = {"a": (1, b"\x00", {2.5}), 3: [None, "\ud800", 10**50], "path": Path("/x")}

    async with IsolateHost() as host:
        assert await host.run(pack, "echo", {"value": value}) == value


async def test_a_large_value_crosses(pack: str) -> None:
    value = ["x" * 1000] * 2000

    async with IsolateHost() as host:
        assert await host.run(pack, "echo", {"value": value}) == value


async def test_what_a_tool_prints_does_not_disturb_its_answer(pack: str) -> None:
    async with IsolateHost() as host:
        assert await host.run(pack, "chatter", {}) == "quiet"
        assert await host.run(pack, "read_stdin", {}) == ""


async def test_generators_and_coroutines_are_carried_out_in_there(pack: str) -> None:
    async with IsolateHost() as host:
        assert await host.run(pack, "many", {}) == [0, 1, 4, 9]
        assert await host.run(pack, "awaited", {}) == "awaited"


async def test_a_cancelled_call_has_stopped_when_its_caller_goes_on(pack: str, pid_file: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    arguments = {"pid_file": str(pid_file), "marker": str(marker)}

    async with IsolateHost() as host:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run, pack, "hang", arguments)
            await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
            tasks.cancel_scope.cancel()

        assert not alive(int(pid_file.read_text()))
        assert not marker.exists()
        assert host.idle_pids() == []


@pytest.mark.parametrize("function", ["hang_in_child", "hang_with_apart", "hold_with_apart"])
async def test_what_a_cancelled_tool_has_started_is_killed_too(pack: str, pid_file: Path, function: str) -> None:
    async with IsolateHost() as host:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run, pack, function, {"pid_file": str(pid_file)})
            await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
            tasks.cancel_scope.cancel()

        assert not alive(int(pid_file.read_text()))


@pytest.mark.parametrize("function", ["leave_child", "leave_orphan"])
async def test_what_a_tool_leaves_running_ends_with_its_call(pack: str, pid_file: Path, function: str) -> None:
    async with IsolateHost() as host:
        helper = await host.run(pack, function, {"pid_file": str(pid_file)})

        assert not alive(int(pid_file.read_text()))
        assert await host.run(pack, "pid", {}) != helper


async def test_a_tool_that_waits_for_its_children_keeps_its_process(pack: str) -> None:
    async with IsolateHost() as host:
        first = await host.run(pack, "pid", {})
        await host.run(pack, "chatter", {})

        assert await host.run(pack, "pid", {}) == first


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        ("broken", "KeyError", "'missing'"),
        ("leave", "RuntimeError", "3"),
        ("hoard", "MemoryError", ""),
        ("crash", "ChildProcessError", "its helper process ended in the middle of the call"),
    ],
)
async def test_a_failure_names_its_kind_and_the_next_call_works(
    pack: str, function: str, kind: str, message: str
) -> None:
    async with IsolateHost(memory=512 * 1024**2) as host:
        with pytest.raises(ToolFailedError) as raised:
            await host.run(pack, function, {})

        assert (raised.value.kind, raised.value.message) == (kind, message)
        assert await host.run(pack, "echo", {"value": 1}) == 1


async def test_a_process_that_ends_in_a_call_is_told_with_its_last_words(pack: str) -> None:
    async with IsolateHost() as host:
        await host.run(pack, "chatter", {})
        with pytest.raises(ToolFailedError) as raised:
            await host.run(pack, "crash_with_words", {})
        raised.value.tool = "pack.crash_with_words"

    assert word_error(raised.value) == (
        "pack.crash_with_words failed: ChildProcessError: its helper process ended in the middle of the call: "
        f"it exited with status 7 ({word_incident(raised.value.incident)})\n"
        "Its stderr ended with:\n  to stdout\n  the disk is on fire"
    )


async def test_errors_for_the_caller_and_of_the_network_keep_their_type(pack: str) -> None:
    async with IsolateHost() as host:
        with pytest.raises(ToolError, match="no such table: people"):
            await host.run(pack, "refuse", {})
        with pytest.raises(ServiceUnavailableError) as raised:
            await host.run(pack, "unreachable", {})

        assert raised.value.reason == "nobody listens"


async def test_a_result_that_cannot_cross_is_told(pack: str) -> None:
    async with IsolateHost() as host:
        with pytest.raises(ToolError, match="its result cannot be returned"):
            await host.run(pack, "handle", {})
        with pytest.raises(UnsupportedValueError):
            await host.run(pack, "echo", {"value": open})


async def test_an_idle_process_is_closed(pack: str) -> None:
    async with IsolateHost(idle_timeout=0.01) as host:
        pid = await host.run(pack, "pid", {})

        await wait_until(lambda: not alive(pid))
        assert host.idle_pids() == []


async def test_a_process_that_died_while_idle_is_replaced(pack: str) -> None:
    async with IsolateHost() as host:
        pid = await host.run(pack, "pid", {})
        os.kill(pid, signal.SIGKILL)
        await wait_until(lambda: not alive(pid))

        assert await host.run(pack, "pid", {}) != pid


async def test_an_error_beside_the_host_stays_what_it_is() -> None:
    with pytest.raises(KeyError):
        async with IsolateHost():
            raise KeyError("x")


async def test_closing_the_host_ends_its_processes(pack: str) -> None:
    async with IsolateHost() as host:
        pid = await host.run(pack, "pid", {})

    assert not alive(pid)


@pytest.mark.parametrize("function", ["hang", "hold_with_apart"])
async def test_nothing_outlives_a_server_that_is_killed(
    pack: str, pid_file: Path, tmp_path: Path, function: str
) -> None:
    marker = tmp_path / "marker"
    arguments = {"pid_file": str(pid_file)} | ({"marker": str(marker)} if function == "hang" else {})
    program = dedent(f"""
        import anyio
        from ot.isolate import IsolateHost
        async def main():
            async with IsolateHost() as host:
                await host.run({pack!r}, {function!r}, {arguments!r})
        anyio.run(main)
    """)
    server = subprocess.Popen([sys.executable, "-c", program])
    await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
    everything = find_descendants(server.pid)

    server.kill()
    server.wait()

    await wait_until(lambda: not any(map(alive, everything | {int(pid_file.read_text())})))
    assert not marker.exists()
