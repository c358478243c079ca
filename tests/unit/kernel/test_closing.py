"""Closing leaves nothing behind: no process, no folder, no descriptor; also when the server itself is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio

from ot.config.models import ExecutionSettings
from ot.kernel.supply import KernelSupply
from ot.kernel.zygote_process import launch_zygote
from tests.unit.kernel.kernels import LIMIT, kernels, run, until

SERVER = """
import asyncio, os, signal
from tests.unit.kernel.kernels import kernels, until

async def main():
    async with kernels(warm=2) as supply:
        async with supply.take() as kernel:
            code = "print('busy')\\nn = 0\\nwhile True:\\n    n += 1\\n    open(str(n), 'w').write('x')"
            kernel.send({"code": code, "values": {}, "packs": [], "aliases": {}})
            await until(lambda: kernel.printed()[0] == "busy\\n" and len(supply._ready) == 2)
            pids = [supply._link.zygote.process.pid, *(kernel.pid for kernel in supply._alive.values())]
            print(supply._link.zygote.scratch_root, *pids, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.sleep(60)

asyncio.run(main())
"""


def open_descriptors() -> set[str]:
    return {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}


def is_gone(pid: int) -> bool:
    """No such process any more, not even one that nobody has reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def pids_of(supply: KernelSupply) -> list[int]:
    return [supply._link.zygote.process.pid, *(kernel.pid for kernel in supply._alive.values())]


async def test_no_process_and_no_folder_is_left_after_close() -> None:
    async with kernels(warm=3) as supply:
        await run(supply, "open('mark', 'w').write('x')")
        await until(lambda: len(supply._ready) == len(supply._alive) == 3)
        pids, root = pids_of(supply), supply._link.zygote.scratch_root
        assert len(pids) == 4
        assert root.exists()

    assert [pid for pid in pids if not is_gone(pid)] == []
    assert not root.exists()


async def test_a_cancelled_run_is_gone_with_all_others() -> None:
    async with kernels(warm=1) as supply, anyio.create_task_group() as tasks:
        tasks.start_soon(run, supply, "print('busy')\nwhile True: pass")
        await until(lambda: any(kernel.printed()[0] for kernel in supply._in_use))
        pids = pids_of(supply)
        tasks.cancel_scope.cancel()

    assert [pid for pid in pids if not is_gone(pid)] == []


async def test_closing_at_once_leaves_nothing_either() -> None:
    async with kernels(warm=4) as supply:
        pids, root = pids_of(supply), supply._link.zygote.scratch_root

    assert [pid for pid in pids if not is_gone(pid)] == []
    assert not root.exists()


async def test_a_zygote_whose_server_went_away_before_it_was_ready_clears_its_folder() -> None:
    zygote = launch_zygote(ExecutionSettings())
    assert zygote.scratch_root.exists()

    zygote.control.close()

    with anyio.fail_after(LIMIT):
        said, _ = await anyio.to_thread.run_sync(zygote.process.communicate)
    assert (zygote.process.returncode, said) == (0, b"")
    assert not zygote.scratch_root.exists()


async def test_runs_and_restarts_leak_no_descriptor() -> None:
    async with kernels(warm=1) as warm_up:
        await run(warm_up, "1")
    before = open_descriptors()

    for _ in range(2):
        async with kernels(warm=2) as supply:
            for code in ("1 + 1", "import os; os._exit(1)", "import os; os.close(4)", "x = 'y' * 2_000_000\nx"):
                await run(supply, code)
            zygote = supply._link.zygote.process.pid
            os.kill(zygote, signal.SIGKILL)
            await until(lambda zygote=zygote, supply=supply: supply._link.zygote.process.pid != zygote)  # type: ignore[misc]
            await run(supply, "1 + 1")

    await until(lambda: open_descriptors() <= before)


async def test_a_server_that_is_killed_takes_its_kernels_and_their_folders_along() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    )
    assert server.stdout is not None
    with server.stdout, anyio.fail_after(LIMIT):
        root, *pids = (await anyio.to_thread.run_sync(server.stdout.readline)).split()
        await anyio.to_thread.run_sync(server.wait)

    assert len(pids) == 4
    await until(lambda: all(is_gone(int(pid)) for pid in pids))
    assert not Path(root).exists()
