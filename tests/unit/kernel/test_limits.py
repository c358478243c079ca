"""Limits of a run: code is interrupted, located and killed; memory and disk run out for it alone."""

from __future__ import annotations

import signal

import anyio
import pytest

from ot.kernel.kernel import DUMP, INTERRUPT, Kernel
from ot.kernel.supply import KernelSupply
from tests.unit.kernel.kernels import Ended, kernels, run, run_in, until


async def interrupt(kernel: Kernel, code: str) -> Ended:
    """Run code that prints `go`, and interrupt it from then on: Python may miss a signal in front of a lock."""
    ends: list[Ended] = []

    async def wait() -> None:
        ends.append(await run_in(kernel, code))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await until(lambda: "go" in kernel.printed()[0])
        while not ends:
            kernel.signal(INTERRUPT)
            await anyio.sleep(0.01)
    return ends[0]


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\nprint('go')\nwhile True: pass",
        "import time\nprint('go') or time.sleep(999)",
        "import threading\nprint('go') or threading.Event().wait()",
        "import asyncio\nprint('go') or await asyncio.sleep(999)",
        "def f():\n    print('go')\n    while True: pass\nf()",
        "import asyncio\nprint('go')\nreturn await asyncio.sleep(999)",
        "try:\n    print('go')\n    while True: pass\nexcept Exception:\n    print('never')",
        "x = 1\nprint('go') or demo.echo(value=1)",
        "x = 1\nprint('go') or ot.parallel(lambda: demo.echo(value=1))",
    ],
)
async def test_code_is_interrupted_where_it_is(supply: KernelSupply, code: str) -> None:
    async with supply.take() as kernel:
        ended = await interrupt(kernel, code)

    assert (ended.message["op"], ended.printed) == ("interrupted", "go\n")
    assert ended.message["frames"][-1][0] in {2, 3}


async def test_interrupted_code_may_clean_up_and_what_it_printed_is_kept(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        code = "import time\ntry:\n    print('go')\n    while True: pass\nfinally:\n    time.sleep(0.1)\n    print('cleaned')"
        ended = await interrupt(kernel, code)

    assert (ended.message["op"], ended.printed) == ("interrupted", "go\ncleaned\n")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("print('go')\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass", 4),
        ("import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\nprint('go')\nwhile True: pass", 4),
        ("import re\nprint('go')\nre.match('(a*)*b', 'a' * 40)", 3),
        ("print('go')\n\nx = 10 ** 10 ** 8", 3),
    ],
    ids=["catches all", "ignores signals", "regular expression", "number"],
)
async def test_code_that_does_not_yield_says_where_it_is_before_it_is_killed(
    supply: KernelSupply, code: str, line: int
) -> None:
    async with supply.take() as kernel, anyio.create_task_group() as tasks:
        tasks.start_soon(run_in, kernel, code)
        await until(lambda: kernel.printed()[0] == "go\n")
        kernel.signal(INTERRUPT)
        kernel.signal(DUMP)
        await until(lambda: kernel.dumped_line() is not None)

        assert kernel.dumped_line() in {line, line - 1, line + 1}
        kernel.signal(signal.SIGKILL)
        await kernel.ended.wait()
        assert kernel.status == signal.SIGKILL
        tasks.cancel_scope.cancel()


async def test_memory_runs_out_as_a_memory_error_at_the_authors_line() -> None:
    async with kernels(warm=1, memory=64 * 1024**2) as supply:
        ended = await run(supply, "x = 1\n\ny = 'x' * 10**9")

        assert ended.error == "MemoryError: "
        assert ended.message["frames"][-1][0] == 3
        assert (await run(supply, "len('x' * 10**7)")).value == 10**7


async def test_memory_that_no_limit_counts_is_seen_and_ends_the_run() -> None:
    async with kernels(warm=1, memory=16 * 1024**2) as supply, supply.take() as kernel:
        code = "import mmap\nm = mmap.mmap(-1, 200 * 1024**2)\nfor at in range(0, len(m), 4096):\n    m[at] = 1\nwhile True: pass"

        ended = await run_in(kernel, code)

        assert (kernel.overrun, ended.status) == ("memory", signal.SIGKILL)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nfor n in range(5):\n    os.posix_fallocate(os.open(str(n), os.O_CREAT | os.O_WRONLY), 0, 60 * 1024**2)",
        "import os\nfor _ in range(300):\n    os.mkdir('a' * 50)\n    os.chdir('a' * 50)",
        "for n in range(20_001):\n    open(str(n), 'w').close()",
    ],
    ids=["large", "deep", "many"],
)
async def test_a_scratch_folder_that_grows_too_large_ends_the_run(supply: KernelSupply, code: str) -> None:
    async with supply.take() as kernel:
        ended = await run_in(kernel, f"{code}\nwhile True: pass")

        assert (kernel.overrun, ended.status) == ("scratch", signal.SIGKILL)


async def test_one_file_has_its_own_limit(supply: KernelSupply) -> None:
    ended = await run(supply, "with open('x', 'wb') as file:\n    file.truncate(65 * 1024**2)")

    assert ended.error == "OSError: [Errno 27] File too large"


async def test_open_files_run_out_for_the_run_alone(supply: KernelSupply) -> None:
    ended = await run(supply, "files = []\nwhile True:\n    files.append(open('x', 'w'))")

    assert ended.error.startswith("OSError: [Errno 24] Too many open files")
    assert (await run(supply, "1 + 1")).value == 2


async def test_no_limit_can_be_raised_again(supply: KernelSupply) -> None:
    code = """
import resource
outcomes = []
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
    soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (hard + 1, hard + 1))
        outcomes.append("raised")
    except (ValueError, OSError):
        outcomes.append("refused")
outcomes
"""

    assert (await run(supply, code)).value == ["refused"] * 4
