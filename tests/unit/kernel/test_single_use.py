"""One run, one kernel: nothing of one run can be seen by the next, or by one beside it."""

from __future__ import annotations

import os

import anyio
import pytest

from ot.kernel.supply import KernelSupply
from tests.engines import on_wasm
from tests.unit.kernel.kernels import kernels, run, run_in, scratch_of


@pytest.mark.parametrize(
    ("leave", "look"),
    [
        ("open('mark', 'w').write('x')", "import os; os.listdir('.')"),
        ("import os; os.mkdir('.mark')", "import os; os.listdir(os.environ['TMPDIR'])"),
        ("import sys; sys.modules['mark'] = sys", "import sys; ['mark'] if 'mark' in sys.modules else []"),
        ("import math; math.mark = 1", "import math; [name for name in dir(math) if name == 'mark']"),
        ("import builtins; builtins.mark = 1", "import builtins; [n for n in dir(builtins) if n == 'mark']"),
        ("mark = 1", "[name for name in globals() if name == 'mark']"),
        ("import os; os.environ['MARK'] = 'x'", "import os; [key for key in os.environ if key == 'MARK']"),
        ("import sys; sys.path.append('mark')", "import sys; [path for path in sys.path if path == 'mark']"),
        ("import os; os.umask(0o077)", "import os; [] if os.umask(0) == 0o22 else ['another umask']"),
        (
            "import signal; signal.signal(14, signal.SIG_IGN)",
            "import signal; [signal.getsignal(14)] if signal.getsignal(14) else []",
        ),
        (
            "import warnings; warnings.simplefilter('error')",
            "import warnings; [f for f in warnings.filters if f[0] == 'error']",
        ),
    ],
    ids=[
        "file",
        "folder",
        "module",
        "attribute",
        "builtin",
        "global",
        "environment",
        "path",
        "umask",
        "signal",
        "filter",
    ],
)
async def test_the_next_run_finds_nothing_of_the_one_before(supply: KernelSupply, leave: str, look: str) -> None:
    assert (await run(supply, look)).value == []

    await run(supply, leave)

    assert (await run(supply, look)).value == []


async def test_every_run_has_its_own_process_and_folder(supply: KernelSupply) -> None:
    look = "import os; open('mark', 'x'); os.getpid(), os.getcwd(), os.environ['HOME'], os.environ['TMPDIR']"

    seen = [(await run(supply, look)).value for _ in range(4)]

    assert len({folder for _, folder, *_ in seen}) == 4
    assert on_wasm() or len({pid for pid, *_ in seen}) == 4  # an instance is told no number of its process
    assert all(folder == home == temporary for _, folder, home, temporary in seen)


async def test_every_run_draws_other_random_numbers(supply: KernelSupply) -> None:
    drawn = [(await run(supply, "import random, os; random.random(), os.urandom(8)")).value for _ in range(3)]

    assert len({number for number, _ in drawn}) == len({data for _, data in drawn}) == 3


async def test_a_run_finds_an_empty_environment_no_input_and_only_its_own_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OT_TEST_SECRET", "for nobody")
    extra = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(extra, True)
    code = (
        "import os\n"
        "def is_open(fd):\n    try:\n        os.fstat(fd)\n    except OSError:\n        return False\n    return True\n"
        "sorted(os.environ), [fd for fd in range(2000) if is_open(fd)], os.read(0, 5)"
    )

    async with kernels(warm=1) as supply:
        names, descriptors, given = (await run(supply, code)).value

    os.close(extra)
    assert set(names) <= {"HOME", "TMPDIR", "PATH", "LANG", "LC_CTYPE"}
    assert on_wasm() or descriptors == [0, 1, 2, 3, 4]  # those of an instance are its own
    assert given == b""


async def test_a_run_cannot_touch_the_one_beside_it(supply: KernelSupply) -> None:
    async with supply.take() as neighbour:
        (scratch_of(neighbour) / "mark").write_text("mine")
        folder = neighbour.scratch.folder
        code = f"""
import os, signal
outcomes = []
for step in (
    lambda: open({str(folder / "mark")!r}).read(),
    lambda: os.listdir({str(folder)!r}),
    lambda: open({str(folder / "new")!r}, "w"),
    lambda: os.rename({str(folder / "mark")!r}, "mark"),
    lambda: os.listdir({str(folder.parent)!r}),
    lambda: os.kill({neighbour.pid}, signal.SIGTERM),
    lambda: os.kill(os.getppid(), 0),
    lambda: os.kill(0, 0),
    lambda: os.kill(-1, 0),
    lambda: os.killpg(0, 0),
    lambda: open("/proc/{neighbour.pid}/mem"),
):
    try:
        outcomes.append(step())
    except OSError as error:
        outcomes.append(type(error).__name__)
outcomes
"""

        outcomes = (await run(supply, code)).value

        assert set(outcomes) <= {"PermissionError", "FileNotFoundError", "OSError"}
        assert (await run_in(neighbour, "open('mark').read()")).value == "mine"


async def test_runs_at_once_see_their_own_output_only(supply: KernelSupply) -> None:
    printed: dict[int, str] = {}

    async def shout(number: int) -> None:
        code = f"import os\nfor _ in range(50):\n    print('run {number}')\n    os.write(2, b'err {number}\\n')"
        printed[number] = (await run(supply, code)).printed

    async with anyio.create_task_group() as tasks:
        for number in range(16):
            tasks.start_soon(shout, number)

    assert printed == {number: f"run {number}\nerr {number}\n" * 50 for number in range(16)}
