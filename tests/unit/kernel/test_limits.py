"""Limits of a run: code is interrupted, located and killed; memory and disk run out for it alone."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from ot.kernel import limits
from ot.kernel.kernel import DUMP, INTERRUPT, Kernel
from ot.kernel.supply import KernelSupply
from tests.availability import report_missing
from tests.engines import on_wasm
from tests.unit.kernel.kernels import Ended, kernels, run, run_in, until

only_native = pytest.mark.only_as_process("no native code can be called there, so none can map memory")
only_in_python = pytest.mark.only_as_process("code that is stopped inside a C function is not told its line there")


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
        pytest.param("import re\nprint('go')\nre.match('(a*)*b', 'a' * 40)", 3, marks=only_in_python),
        pytest.param("print('go')\n\nx = 10 ** 10 ** 8", 3, marks=only_in_python),
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


MAP = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def map_memory(flags, fd=-1, prot=3, size=2**20):
    address = libc.mmap(None, size, prot, flags, fd, 0)
    if address == 2**64 - 1:
        raise OSError(ctypes.get_errno(), "refused")
    return address
"""


@pytest.mark.parametrize(
    "attempt",
    [
        pytest.param(f"{MAP}mmap.mmap(-1, 2**20)", marks=only_native),
        pytest.param(f"{MAP}map_memory(0x21)", marks=only_native),
        pytest.param(f"{MAP}map_memory(0x23)", marks=only_native),
        pytest.param(f"{MAP}map_memory(0x122)", marks=only_native),
        pytest.param(f"{MAP}map_memory(0x40022)", marks=only_native),
        "os.open('/dev/zero', os.O_RDWR)",
        pytest.param(f"{MAP}map_memory(0x1, os.open('/dev/zero', os.O_RDONLY), 1)", marks=only_native),
        "os.memfd_create('x')",
    ],
    ids=["shared", "shared by call", "validated", "growing", "huge", "zero", "zero to read", "memfd"],
)
async def test_memory_that_nobody_counts_cannot_be_had(supply: KernelSupply, attempt: str) -> None:
    ended = await run(supply, f"import os\n{attempt}")

    refused = ("PermissionError", "FileNotFoundError") if on_wasm() else ("PermissionError", "OSError: [Errno 1]")
    assert ended.error.startswith(refused)


@only_native
async def test_memory_for_this_process_alone_can_be_mapped(supply: KernelSupply) -> None:
    code = "import mmap\nm = mmap.mmap(-1, 2**20, flags=mmap.MAP_PRIVATE)\nm[5] = 7\nm[5]"

    assert (await run(supply, code)).value == 7


FILL = """
import os, threading, time
def allocate(fd, size):
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    while size > os.fstat(fd).st_size:
        os.write(fd, bytes(2**20))
def fill(name, size=60 * 1024**2):
    fd = os.open(name, os.O_CREAT | os.O_RDWR)
    allocate(fd, size)
    return fd
"""
TOO_MUCH = {
    "large files": pytest.param("scratch", "for n in range(5): os.close(fill(str(n)))"),
    "deep folders": pytest.param(
        "scratch",
        "for _ in range(300):\n    os.mkdir('a' * 50)\n    os.chdir('a' * 50)",
        marks=pytest.mark.only_as_process("a folder can be nested only as deeply as one path can name it there"),
    ),
    "many files": pytest.param("scratch", "for n in range(20_001):\n    open(str(n), 'w').close()"),
    "a folder that cannot be read": pytest.param(
        "scratch",
        "os.mkdir('blind', 0o300)\nfor n in range(5): os.close(fill(f'blind/{n}'))",
    ),
    "files without a name": pytest.param("scratch", "for n in range(5):\n    fill('x')\n    os.unlink('x')"),
    "files that never had one": pytest.param(
        "scratch",
        "for n in range(5):\n    fd = os.open('.', os.O_TMPFILE | os.O_RDWR)\n    os.posix_fallocate(fd, 0, 60 * 1024**2)",
        marks=pytest.mark.only_as_process("there is no O_TMPFILE there: every file has a name when it is made"),
    ),
    "files that are only mapped": pytest.param(
        "scratch",
        f"{MAP}for n in range(5):\n    fd = fill('x')\n    map_memory(1, fd, size=4096)\n    os.unlink('x')\n    os.close(fd)",
        marks=only_native,
    ),
    "files whose descriptors are moved about": pytest.param(
        "scratch",
        (
            "fds = []\nfor n in range(5):\n    fds.append(fill('x'))\n    os.unlink('x')\n"
            "while True:\n    new = [os.dup(fd) for fd in fds]\n    for fd in fds: os.close(fd)\n    fds = new"
        ),
        marks=pytest.mark.only_as_process("there is no os.dup there: an open file has one descriptor"),
    ),
    "a folder that is moved about": pytest.param(
        "scratch",
        (
            "os.mkdir('a')\nfor n in range(5): os.close(fill(f'a/{n}'))\n"
            "while True:\n    os.rename('a', 'b')\n    os.rename('b', 'a')"
        ),
    ),
    "threads": pytest.param(
        "threads",
        (
            "threading.stack_size(2**18)\n"
            "try:\n    while True: threading.Thread(target=time.sleep, args=(999,)).start()\nexcept RuntimeError: pass"
        ),
        marks=pytest.mark.only_as_process("a run has one thread there"),
    ),
    "a process whose first thread has ended": pytest.param(
        "memory",
        (
            f"{MAP}threading.Thread(target=time.sleep, args=(999,)).start()\n"
            "ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)"
        ),
        marks=only_native,
    ),
}


@pytest.fixture(scope="module")
async def watched(anyio_backend: str) -> AsyncIterator[KernelSupply]:
    """Kernels of a system that gives nobody a file system of its own."""
    async with kernels(warm=2, sized_scratch=False) as supply:
        yield supply


@pytest.mark.parametrize(("what", "code"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
async def test_a_run_that_takes_more_than_it_was_given_is_ended(watched: KernelSupply, what: str, code: str) -> None:
    async with watched.take() as kernel:
        ended = await run_in(kernel, f"{FILL}{code}\nwhile True: pass")

        assert (kernel.overrun, ended.status) == (what, signal.SIGKILL)


def held_by_the_system(supply: KernelSupply) -> None:
    if not supply.scratch_sized:
        report_missing("mount namespaces", remedy="Allow user namespaces; scratch folders are only watched here.")


@pytest.mark.parametrize(
    ("_", "code"),
    [case for name, case in TOO_MUCH.items() if "scratch" in case.values and name != "deep folders"],
    ids=[name for name, case in TOO_MUCH.items() if "scratch" in case.values and name != "deep folders"],
)
async def test_a_scratch_folder_of_its_own_size_is_full_at_the_line_that_fills_it(
    supply: KernelSupply, _: str, code: str
) -> None:
    async with supply.take() as kernel:
        held_by_the_system(supply)
        ended = await run_in(kernel, f"{FILL}{code}")

        full = "The scratch folder of a run holds at most 256 MB, in at most 20,000 files and folders."
        if on_wasm():  # the system does not always say of what there is too much
            assert ended.error.startswith(("OSError: [Errno 29] I/O error", "OSError: [Errno 51] No space left"))
            assert ended.message["notes"][-1] == full
        else:
            assert ended.error.startswith("OSError: [Errno 28] No space left on device")
            assert ended.message["notes"] == [full]
        assert kernel.overrun is None
        facts = os.fstatvfs(kernel.scratch._descriptor)
        assert facts.f_blocks * facts.f_frsize <= limits.SCRATCH


async def test_what_fills_a_scratch_folder_is_gone_after_the_run(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        held_by_the_system(supply)
        await run_in(kernel, f"{FILL}for n in range(4): fill(str(n))")
        folder, pid = kernel.scratch.folder, kernel.pid
        mounts = Path(f"/proc/{os.getpid()}/mounts").read_text()

    await until(lambda: not folder.exists())
    assert str(folder) not in mounts  # nobody else has it in their way
    assert not Path(f"/proc/{pid}").exists()
    async with supply.take() as kernel:
        facts = os.fstatvfs(kernel.scratch._descriptor)
        assert facts.f_blocks * facts.f_frsize <= limits.SCRATCH
        assert facts.f_files <= limits.SCRATCH_FILES + 1


async def test_a_result_that_a_full_scratch_folder_has_no_room_for_ends_the_run_and_says_why(
    supply: KernelSupply,
) -> None:
    fill = "try:\n    for n in range(5): open(str(n), 'wb').write(bytes(60 * 2**20))\nexcept OSError: pass"
    async with supply.take() as kernel:
        held_by_the_system(supply)
        ended = await run_in(kernel, f"{FILL}{fill}\ndemo.echo(value=1)", answer=lambda _: "x" * 8 * 2**20)

        assert (kernel.overrun, ended.lost) == ("scratch", "the kernel cannot be written to: No space left on device")


async def test_a_kernel_has_no_right_that_its_zygote_needs_to_mount(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        facts = dict(line.split(":", 1) for line in Path(f"/proc/{kernel.pid}/status").read_text().splitlines())

    assert {facts[name].strip() for name in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")} == {"0" * 16}


@pytest.mark.parametrize(
    "code",
    [
        (
            "maps = []\nfor n in range(3):\n    maps.append(mmap.mmap(fill(str(n)), 60 * 1024**2))\n"
            "    for at in range(0, len(maps[-1]), 4096): maps[-1][at] = 1"
        ),
        (
            "address = map_memory(0x4022, prot=1, size=2**38)\n"
            "for at in range(0, 2**38, 2**21): ctypes.string_at(address + at, 1)"
        ),
    ],
    ids=["mapped files", "tables of pages"],
)
@only_native
async def test_memory_that_no_limit_counts_is_seen_and_ends_the_run(code: str) -> None:
    async with kernels(warm=1, memory=16 * 1024**2) as supply, supply.take() as kernel:
        ended = await run_in(kernel, f"{FILL}{MAP}{code}\nwhile True: pass")

        assert (kernel.overrun, ended.status) == ("memory", signal.SIGKILL)


async def test_code_that_makes_and_removes_files_all_the_time_is_left_alone(supply: KernelSupply) -> None:
    code = (
        "import os, tempfile, time\nend, made = time.monotonic() + 1, 0\nwhile time.monotonic() < end:\n"
        "    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, 'x'), 'w') as file:\n"
        "        made += bool(file.write('x'))\nmade > 10"
    )

    assert (await run(supply, code)).value is True


async def test_one_file_has_its_own_limit(supply: KernelSupply) -> None:
    ended = await run(supply, "with open('x', 'wb') as file:\n    file.truncate(65 * 1024**2)")

    assert ended.error == f"OSError: [Errno {22 if on_wasm() else 27}] File too large"


async def test_open_files_run_out_for_the_run_alone(supply: KernelSupply) -> None:
    ended = await run(supply, "files = []\nwhile True:\n    files.append(open('x', 'w'))")

    if on_wasm():
        assert ended.error.startswith("OSError: [Errno 29] I/O error")
        assert ended.message["notes"] == ["A run may have at most 256 files open, and a path at most 4,096 characters."]
    else:
        assert ended.error.startswith("OSError: [Errno 24] Too many open files")
    assert (await run(supply, "1 + 1")).value == 2


@pytest.mark.only_as_process("there is no module `resource` there: code cannot ask for the limits of its process")
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
