"""A standby forks guardians: started late, gone when idle and with its server, and it keeps nothing of what it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import anyio

from ot.processes.run_program import Finished, run_program
from ot.processes.standby import Standby
from tests.e2e.processes import find_descendants, find_open
from tests.opened_executor import wait_until

SHOW = "import os; print(os.getcwd(), sorted(os.environ), os.getsid(0) == os.getpid(), os.listdir('/proc/self/fd'))"


async def run(standby: Standby, *words: str, cwd: Path = Path("/"), **environ: str) -> Finished:
    return await run_program(words, environ=environ, cwd=cwd, standby=standby)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_nothing_is_started_before_it_is_needed() -> None:
    before = find_descendants(os.getpid())
    async with Standby() as standby:
        assert find_descendants(os.getpid()) <= before
        await run(standby, "true")
        pid = standby.pid
        await run(standby, "true")

        assert standby.pid == pid
        await wait_until(lambda: find_descendants(os.getpid()) - before == {pid})
    assert find_descendants(os.getpid()) <= before


async def test_a_program_has_its_own_environment_and_folder_and_nothing_of_others(tmp_path: Path) -> None:
    async with Standby() as standby:
        await run(standby, "true", cwd=tmp_path, SECRET="of another program")
        async with anyio.create_task_group() as others:
            others.start_soon(run, standby, "sleep", "60")
            shown = await run(standby, sys.executable, "-I", "-S", "-X", "utf8", "-c", SHOW, LC_ALL="C.UTF-8")
            others.cancel_scope.cancel()

    assert shown.output.decode().strip() == "/ ['LC_ALL'] True ['0', '1', '2', '3']"


async def test_it_holds_no_stream_of_a_program_and_none_of_its_words() -> None:
    async with Standby() as standby, anyio.create_task_group() as others:
        others.start_soon(run, standby, "sleep", "60")
        await wait_until(lambda: standby.pid is not None and bool(find_descendants(standby.pid)))
        await run(standby, "true", SECRET="of another program")
        await wait_until(lambda: sum(name.startswith("socket") for name in set(find_open(standby.pid or 0))) == 1)
        held = find_open(standby.pid or 0)
        others.cancel_scope.cancel()

    assert {name.partition(":")[0] for name in held} == {"/dev/null", "socket", "anon_inode"}


async def test_it_ends_when_nobody_wants_anything_and_is_there_again() -> None:
    before = find_descendants(os.getpid())  # servers that fixtures of other tests have started, too
    async with Standby(idle_timeout=0.05) as standby:
        await run(standby, "true")
        await wait_until(lambda: standby.pid is None and find_descendants(os.getpid()) <= before)

        assert (await run(standby, "true")).status == 0


async def test_a_program_outlives_a_standby_that_is_not_needed_any_more() -> None:
    async with Standby(idle_timeout=0.05) as standby:
        done = await run(standby, "sh", "-c", "sleep 0.3; echo done", PATH=os.environ["PATH"])

    assert (done.status, done.output) == (0, b"done\n")


async def test_one_that_was_killed_is_replaced_and_programs_go_on(tmp_path: Path) -> None:
    waiting = "until [ -e go ]; do sleep 0.01; done; echo done"
    async with Standby() as standby:
        await run(standby, "true")
        killed = standby.pid
        assert killed is not None
        finished: list[Finished] = []

        async def work() -> None:
            finished.append(await run(standby, "sh", "-c", waiting, cwd=tmp_path, PATH=os.environ["PATH"]))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await wait_until(lambda: bool(find_descendants(killed)))
            os.kill(killed, signal.SIGKILL)
            await wait_until(lambda: not alive(killed))
            assert (await run(standby, "true")).status == 0
            assert standby.pid not in (None, killed)
            (tmp_path / "go").touch()

    assert [done.output for done in finished] == [b"done\n"]


async def test_a_cancelled_program_has_ended_when_its_caller_goes_on(tmp_path: Path) -> None:
    async with Standby() as standby:
        for delay in (0, 0.001, 0.01):
            with anyio.move_on_after(delay):
                await run(standby, "sh", "-c", "echo $$ >> pids; sleep 60", cwd=tmp_path, PATH=os.environ["PATH"])
            pids = (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []
            assert not any(alive(int(pid)) for pid in pids)
        await wait_until(lambda: standby.pid is None or not find_descendants(standby.pid))


async def test_nothing_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    program = dedent("""
        import anyio, os, sys
        from pathlib import Path
        from ot.processes.run_program import run_program
        from ot.processes.standby import Standby
        async def main():
            async with Standby() as standby:
                words = ["sh", "-c", "sleep 600 & echo $! > pid; wait"]
                await run_program(words, environ=os.environ, cwd=Path(sys.argv[1]), standby=standby)
        anyio.run(main)
    """)
    pid_file = tmp_path / "pid"
    server = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
    everything = find_descendants(server.pid)
    assert int(pid_file.read_text()) in everything

    server.kill()
    server.wait()

    await wait_until(lambda: not any(map(alive, everything)))
