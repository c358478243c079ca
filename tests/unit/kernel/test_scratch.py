"""Scratch folders are measured and cleared whatever code left in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ot.errors import KernelStartError
from ot.kernel import limits
from ot.kernel.scratch import measure_scratch
from ot.kernel.supply import KernelSupply
from ot_confinement import Allowance
from ot_confinement.limits import Confinement
from ot_guardian import clear_folder
from ot_kernel.scratch_folders import ScratchFolders
from tests.unit.kernel.kernels import kernels, run, run_in, scratch_of, until

ALLOWANCE = Allowance((), (), memory=2**30, file_size=2**20, open_files=100)
DEEP = 3_000
NEST = f"import os\nfor _ in range({DEEP}):\n    os.mkdir('a' * 50)\n    os.chdir('a' * 50)\nopen('bottom', 'w').write('x')"


def nest(folder: Path, depth: int = DEEP) -> None:
    """Folders so deep that no path leads to the last."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a" * 50, dir_fd=here)
        below = os.open("a" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("bottom", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


async def test_the_folder_of_a_run_is_gone_after_it(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        await run_in(kernel, "import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('x')\nopen('d', 'w')")
        folder = kernel.scratch.folder
        assert (scratch_of(kernel) / "a/b/c").read_text() == "x"

    await until(lambda: not folder.exists())


@pytest.mark.parametrize(
    "code",
    [
        NEST,
        "import os\nos.mkdir('shut', 0)\nos.mkdir('blind', 0o300)\nopen('blind/file', 'w')",
        pytest.param(
            "import os\nos.symlink('/', 'root')\nos.symlink('nowhere', 'broken')\nos.symlink('.', 'loop')",
            marks=pytest.mark.only_as_process("code cannot make links out of its folder there"),
        ),
        pytest.param(
            "import os\nfor n in range(300):\n    open(os.fsencode(f'{n}') + b'\\xff\\n', 'w')",
            marks=pytest.mark.only_as_process("names of files are always UTF-8 there"),
        ),
        "import os\nos.mkdir('.message-1')\nos.mkdir('x')\nos.chdir('x')\nwhile True:\n    open('y', 'w').write('z')",
    ],
    ids=["deep", "shut", "links", "names", "still writing"],
)
async def test_nothing_is_left_after_a_supply_was_closed(code: str) -> None:
    async with kernels(warm=1) as supply:
        root = supply._link.zygote.scratch_root
        async with supply.take() as kernel:
            kernel.send({"code": f"print(1)\n{code}", "values": {}, "packs": [], "aliases": {}})
            await until(lambda: kernel.printed()[0] == "1\n" and any(scratch_of(kernel).iterdir()))

    assert not root.exists()


async def folders_of(supply: KernelSupply, code: str, count: int) -> list[str]:
    """The folders of kernels that run this one after another, each before the next is there."""
    folders = []
    for _ in range(count):
        async with supply.take() as kernel:
            folders.append(kernel.scratch.path)
            await run_in(kernel, code)
        await until(lambda: kernel.ended.is_set())
    return folders


async def test_a_folder_that_stayed_as_it_was_made_serves_again() -> None:
    async with kernels(warm=0) as supply:
        folders = await folders_of(supply, "1 + 1", 6)
        if not supply.scratch_sized:
            pytest.skip("this system has no file systems for scratch folders")

    assert len(set(folders)) < len(folders)


@pytest.mark.parametrize(
    "code",
    [
        "open('kept', 'w').write('x')",
        "import os\nopen('gone', 'w').close()\nos.unlink('gone')",
        "import os\nos.mkdir('gone')\nos.rmdir('gone')",
        "import os\nos.listdir()",
    ],
    ids=["a file", "a file that is gone", "a folder that is gone", "a look"],
)
async def test_a_folder_that_code_has_touched_serves_no_other(code: str) -> None:
    async with kernels(warm=0) as supply:
        folders = await folders_of(supply, code, 3)

    assert len(set(folders)) == 3


@pytest.mark.parametrize("other", [{"sandbox": "off"}, {"sized_scratch": False}], ids=["unconfined", "unsized"])
async def test_a_folder_that_tells_nothing_of_its_use_serves_once(other: dict[str, Any]) -> None:
    async with kernels(warm=0, **other) as supply:
        folders = await folders_of(supply, "1 + 1", 3)

    assert len(set(folders)) == 3


async def test_where_no_folder_can_be_made_runs_are_refused_and_others_go_on() -> None:
    async with kernels(warm=0, patience=2) as supply, supply.take() as kernel:
        for number in range(2, 500):
            (supply._link.zygote.scratch_root / str(number)).touch()

        with pytest.raises(KernelStartError, match=r"no scratch folder can be made: \[Errno 17\]"):
            await run(supply, "1")

        assert (await run_in(kernel, "1 + 1")).value == 2


def test_a_folder_that_no_rules_go_with_serves_once(tmp_path: Path) -> None:
    class WithoutRules(Confinement):
        def size_folder(self, folder: str) -> bool:
            return True

    confinement = WithoutRules(ALLOWANCE)
    confinement.guards_calls = True
    folders = ScratchFolders(str(tmp_path), confinement)
    folder = folders.take()
    folders.lend(folder)

    assert not folders.leave(folder)
    assert folders.take().path != folder.path


async def test_what_is_meant_for_a_kernel_that_is_gone_reaches_no_other(supply: KernelSupply) -> None:
    async with supply.take() as kernel:
        kernel.signal(signal.SIGKILL)
        await until(kernel.ended.is_set)

        with pytest.raises(OSError, match="has ended"):
            kernel.scratch.create(".message-s1")


def test_clearing_follows_no_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "kept").touch(0o600)
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "file").symlink_to(outside / "kept")

    clear_folder(folder)

    assert not folder.exists()
    assert (outside / "kept").exists()


def test_clearing_takes_no_recursion_and_no_long_path(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    nest(folder)

    clear_folder(folder)

    assert list(tmp_path.iterdir()) == []


def test_clearing_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    clear_folder(tmp_path / "nothing")


def test_folders_that_nobody_may_enter_are_cleared_by_whoever_owns_them(tmp_path: Path) -> None:
    """In a process that has given up the rights of root, to whom no folder is shut."""
    code = """
import os, sys
from pathlib import Path
from ot_guardian import clear_folder
from ot_confinement import Allowance, build_confinement

allowance = Allowance((), (), memory=2**30, file_size=2**20, open_files=100)
build_confinement(allowance, off=True).share()
folder = Path(sys.argv[1])
os.mkdir(folder, 0o700)
os.mkdir(folder / "shut", 0)
os.mkdir(folder / "blind", 0o300)
os.mkdir(folder / "blind" / "inner", 0o100)
(folder / "blind" / "file").touch()
clear_folder(folder)
print(folder.exists())
"""

    answer = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "folder")], capture_output=True, text=True, check=False
    )

    assert (answer.stdout, answer.stderr) == ("False\n", "")


def test_the_size_of_a_folder_is_what_its_files_take_on_disk(tmp_path: Path) -> None:
    assert measure_scratch(tmp_path, 10**9) == (0, True)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(os.urandom(100_000))
    (tmp_path / "c").write_bytes(os.urandom(50_000))
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**8)
    (tmp_path / "link").symlink_to("/")

    assert 150_000 <= measure_scratch(tmp_path, 10**9).size < 300_000


def test_measuring_stops_when_the_limit_is_passed(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(os.urandom(50_000))

    assert measure_scratch(tmp_path, 60_000).size > 60_000


def test_too_many_files_to_count_are_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.SCRATCH_FILES >= 10_000
    monkeypatch.setattr(limits, "SCRATCH_FILES", 20)
    for number in range(21):
        (tmp_path / str(number)).touch()

    assert measure_scratch(tmp_path, 10**9) == (10**9 + 1, True)


def test_folders_too_deep_to_look_into_are_too_much(tmp_path: Path) -> None:
    nest(tmp_path, depth=100)

    assert measure_scratch(tmp_path, 10**9) == (10**9 + 1, True)
    clear_folder(tmp_path)


def test_what_cannot_be_read_is_too_much_for_whoever_owns_it(tmp_path: Path) -> None:
    """In a process that has given up the rights of root, to whom no folder is shut."""
    code = """
import os, sys
from pathlib import Path
from ot.kernel.scratch import measure_scratch
from ot_confinement import Allowance, build_confinement

build_confinement(Allowance((), (), memory=2**30, file_size=2**20, open_files=100), off=True).share()
os.mkdir(sys.argv[1] + "/blind", 0o300)
print(measure_scratch(Path(sys.argv[1]), 1000))
"""

    answer = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)

    assert (answer.stdout, answer.stderr) == ("Counted(size=1001, complete=True)\n", "")


def test_a_folder_that_is_gone_takes_nothing(tmp_path: Path) -> None:
    assert measure_scratch(tmp_path / "gone", 5) == (0, True)


async def test_the_next_run_works_after_a_hostile_folder(supply: KernelSupply) -> None:
    await run(supply, NEST)

    assert (await run(supply, "import os; os.listdir('.')")).value == []
