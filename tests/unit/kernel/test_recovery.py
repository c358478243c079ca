"""Whatever dies, the next run works; and what was asked of the dead is told how it ended."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.config.models import ExecutionSettings
from ot.errors import SandboxError
from ot.kernel.kernel import Kernel
from ot.kernel.pauses import MAX_RESTARTS, Pauses
from ot.kernel.supply import KernelSupply, open_supply
from ot.kernel.zygote_process import KernelSettings, ZygoteProcess, launch_zygote
from ot_confinement import Allowance
from ot_confinement.limits import Confinement
from ot_kernel.zygote import Zygote
from ot_system.sockets import message_pair
from tests.engines import on_wasm
from tests.unit.kernel.kernels import kernels, run, run_in, until

only_native = pytest.mark.only_as_process("no native code can be called there, so none can crash")
ALLOWANCE = Allowance(readable=(), writable=(), memory=2**30, file_size=2**20, open_files=64)


@pytest.fixture
async def supply() -> AsyncIterator[KernelSupply]:
    """One for each test: they break it."""
    async with kernels(warm=2) as supply:
        await until(lambda: len(supply._ready) == 2)
        yield supply


def zygote_of(supply: KernelSupply) -> int:
    return supply._link.zygote.process.pid


async def kill_zygote(supply: KernelSupply) -> None:
    before = zygote_of(supply)
    os.kill(before, signal.SIGKILL)
    await until(lambda: zygote_of(supply) != before)


async def kill_waiting(supply: KernelSupply, *doomed: Kernel) -> None:
    for kernel in doomed:
        os.kill(kernel.pid, signal.SIGKILL)
    await until(lambda: len(supply._ready) == 2 and not set(doomed) & set(supply._ready))


async def test_the_next_run_works_after_the_zygote_was_killed(supply: KernelSupply) -> None:
    for _ in range(2 * MAX_RESTARTS):
        await kill_zygote(supply)

        assert (await run(supply, "1 + 1")).value == 2


async def test_a_run_waits_for_the_zygote_that_has_died_again_and_again(supply: KernelSupply) -> None:
    supply._pauses.failures = MAX_RESTARTS
    before = zygote_of(supply)
    os.kill(before, signal.SIGKILL)
    await until(lambda: supply._pauses.reason == "the zygote keeps ending")

    assert (await run(supply, "1 + 1")).value == 2
    assert zygote_of(supply) != before


async def test_why_there_was_a_pause_is_known_until_something_succeeds() -> None:
    ended = anyio.Event()
    pauses = Pauses(ended.set)
    pauses.begin("kernels keep ending")
    await ended.wait()

    assert (pauses.pausing, pauses.reason) == (False, "kernels keep ending")
    pauses.forget_failures()
    assert pauses.reason == ""


async def test_a_supply_can_be_closed_in_a_pause() -> None:
    async with kernels(warm=1) as supply:
        supply._pauses.failures = MAX_RESTARTS
        os.kill(zygote_of(supply), signal.SIGKILL)
        await until(lambda: supply._pauses.reason != "")


def oom_score(pid: int) -> int:
    with open(f"/proc/{pid}/oom_score_adj") as file:  # noqa: PTH123 - read at once
        return int(file.read())


async def test_kernels_go_before_the_zygote_when_memory_runs_out(supply: KernelSupply) -> None:
    assert [oom_score(kernel.pid) for kernel in supply._ready] == [1000, 1000]
    # It asks for itself while it forks, and a kernel may be ready before it takes that back.
    await until(lambda: oom_score(zygote_of(supply)) == oom_score(os.getpid()))


async def test_a_run_asked_for_before_anybody_knows_of_the_zygotes_death_works_too(supply: KernelSupply) -> None:
    while supply._ready:
        supply._ready.popleft().close()
    os.kill(zygote_of(supply), signal.SIGKILL)

    assert (await run(supply, "1 + 1")).value == 2


async def test_a_run_in_flight_learns_that_its_kernel_died_with_the_zygote(supply: KernelSupply) -> None:
    async with supply.take() as kernel, anyio.create_task_group() as tasks:
        ends = []

        async def wait() -> None:
            ends.append(await run_in(kernel, "print('here')\nwhile True: pass"))

        tasks.start_soon(wait)
        await until(lambda: kernel.printed()[0] == "here\n")
        os.kill(zygote_of(supply), signal.SIGKILL)

    assert [(end.lost, end.status, end.printed) for end in ends] == [
        ("the kernel closed its connection", signal.SIGKILL, "here\n")
    ]
    assert (await run(supply, "1 + 1")).value == 2


async def test_kernels_of_a_killed_zygote_do_not_outlive_it(supply: KernelSupply) -> None:
    pids = [kernel.pid for kernel in supply._alive.values()]
    root = supply._link.zygote.scratch_root
    assert len(pids) == 2

    os.kill(zygote_of(supply), signal.SIGKILL)

    await until(lambda: not any(is_running(pid) for pid in pids))
    await until(lambda: not root.exists())


def is_running(pid: int) -> bool:
    """Whether a process still does anything; what init has yet to reap does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - read at once
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_kernel_that_is_killed_while_it_waits_is_replaced(supply: KernelSupply) -> None:
    for _ in range(3):
        await kill_waiting(supply, supply._ready[0])

    assert [(await run(supply, "1 + 1")).value for _ in range(4)] == [2] * 4


async def test_a_run_asked_for_before_anybody_knows_of_a_waiting_kernels_death_works_too(supply: KernelSupply) -> None:
    doomed = list(supply._ready)
    for kernel in doomed:
        os.kill(kernel.pid, signal.SIGKILL)
    while any(is_running(kernel.pid) for kernel in doomed):
        time.sleep(0.001)  # without a turn of the event loop, which would hear of it

    assert (await run(supply, "1 + 1")).value == 2


async def test_all_waiting_kernels_killed_at_once_are_replaced(supply: KernelSupply) -> None:
    await kill_waiting(supply, *supply._ready)

    assert (await run(supply, "1 + 1")).value == 2


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os; os._exit(3)", 3 << 8),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)",
            signal.SIGKILL,
            marks=pytest.mark.only_as_process("there are no signals there"),
        ),
        ("import os; os.abort()", signal.SIGABRT),
        pytest.param("import ctypes; ctypes.string_at(0)", signal.SIGSEGV, marks=only_native),
    ],
)
async def test_a_kernel_that_ends_itself_is_told_by_its_status(supply: KernelSupply, code: str, status: int) -> None:
    ended = await run(supply, f"print('before')\n{code}")

    assert (ended.lost, ended.status, ended.printed) == ("the kernel closed its connection", status, "before\n")
    assert (await run(supply, "1 + 1")).value == 2


@only_native
async def test_a_crash_names_the_line_even_in_c_code(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        await run_in(kernel, "x = 1\nimport ctypes\n\nctypes.string_at(0)\n")

        assert kernel.dumped_line() == 4


async def test_more_runs_than_warm_kernels_all_get_one(supply: KernelSupply) -> None:
    values = []

    async def work(number: int) -> None:
        values.append((await run(supply, f"{number} * 2")).value)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(work, number)

    assert sorted(values) == [2 * number for number in range(20)]


async def test_without_warm_kernels_each_is_forked_when_it_is_needed() -> None:
    async with kernels(warm=0) as supply:
        assert [(await run(supply, "1 + 1")).value for _ in range(2)] == [2, 2]
        assert supply.started == 2


async def test_whoever_stops_waiting_for_a_kernel_leaves_it_to_the_next() -> None:
    async with kernels(warm=0) as supply:
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                async with supply.take():
                    raise AssertionError("was cancelled before")

            tasks.start_soon(wait)
            await until(lambda: len(supply._line.runs) == 1)
            tasks.cancel_scope.cancel()

        assert len(supply._line.runs) == 0
        assert (await run(supply, "1 + 1")).value == 2
        assert supply.started <= 2


async def test_a_refusal_stays_one_and_does_not_grow(supply: KernelSupply) -> None:
    supply._refuse(SandboxError(["landlock: not on this system"]))

    for _ in range(3):
        with pytest.raises(SandboxError) as caught:
            await run(supply, "1")
        depth = len(list(caught.traceback))

    with pytest.raises(SandboxError) as caught:
        await run(supply, "1")
    assert len(list(caught.traceback)) == depth


def children_of(pid: int) -> int:
    return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


async def test_kernels_wait_for_a_server_that_is_too_busy_to_take_them() -> None:
    """Linux lets a user have only so many descriptors on their way; fifty kernels that nobody takes use them up."""
    zygote = launch_zygote(ExecutionSettings(warm=64))
    await until(lambda: children_of(zygote.process.pid) == 64)

    async with open_supply(zygote) as supply:
        await until(lambda: len(supply._ready) == 64)
        assert max(kernel.number for kernel in supply._ready) <= 65  # none of them had to be replaced; one is a probe
        assert supply._pauses.failures == 0


def test_a_zygote_that_can_start_no_process_says_so_and_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Full(Confinement):
        def fork(self) -> int:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    ours, theirs = message_pair()
    with ours, theirs:
        zygote = Zygote(theirs, str(tmp_path), Full(ALLOWANCE), None, confined=True)
        for number in (1, 2):
            zygote._obey({"fork": 1})

            assert json.loads(ours.recv(4096))["ended"] == number
            assert "no process can be started: [Errno 11]" in capfd.readouterr().err
    assert len(list(tmp_path.iterdir())) == 1  # the folder of the first serves the second


async def test_after_failures_kernels_do_without_what_makes_them_faster() -> None:
    launched: list[dict[str, Any]] = []

    def launch(settings: KernelSettings, **options: Any) -> ZygoteProcess:
        launched.append(options)
        return launch_zygote(settings, **options)

    async with open_supply(launch_zygote(ExecutionSettings(warm=1)), launch=launch) as supply:
        supply._pauses.failures = MAX_RESTARTS
        os.kill(zygote_of(supply), signal.SIGKILL)
        await until(lambda: supply._pauses.reason != "")

        assert (await run(supply, "1 + 1")).value == 2
        slower = {"warm": 1, "sized_scratch": False, "pinned_pages": False}
        assert launched == [{**slower, "engine": "wasm" if on_wasm() else "process", "state": None}]
        assert not supply.scratch_sized
