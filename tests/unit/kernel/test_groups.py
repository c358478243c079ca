"""Control groups of kernels, in a folder that looks like one: few systems where tests run have delegated a real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ot.kernel import limits
from ot.kernel.groups import KernelGroups, find_own_group, open_groups
from tests.unit.kernel.kernels import kernels, run

MEMORY = 64 * 1024**2


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A delegated group with nobody in it but us."""
    folder = tmp_path / "group"
    folder.mkdir()
    (folder / "cgroup.controllers").write_text("cpu memory pids\n")
    (folder / "cgroup.subtree_control").write_text("")
    (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
    if os.geteuid() == 0:
        try:
            os.setxattr(folder, "user.delegate", b"1")
        except OSError:
            pytest.skip("this file system has no attributes, by which root knows a delegated group")
    return folder


def open_for_test(own: Path) -> KernelGroups:
    groups = open_groups(own, memory=MEMORY)
    assert groups is not None
    return groups


def test_a_delegated_group_is_divided_and_the_server_moves_one_down(own: Path) -> None:
    open_for_test(own)

    assert (own / "onetool-server" / "cgroup.procs").read_text() == str(os.getpid())
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_that_is_divided_already_is_left_as_it_is(own: Path) -> None:
    (own / "cgroup.subtree_control").write_text("memory pids\n")

    open_for_test(own)

    assert not (own / "onetool-server").exists()


def test_a_kernel_gets_a_group_with_its_limits(own: Path) -> None:
    groups = open_for_test(own)

    assert groups.enter(4321)

    folder = own / f"onetool-{os.getpid()}-4321"
    found = {file.name: file.read_text() for file in folder.iterdir()}
    assert found == {
        "memory.max": str(MEMORY + limits.MEMORY_MARGIN + limits.SCRATCH),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": str(limits.THREADS),
        "cgroup.procs": "4321",
    }


def test_a_group_that_cannot_be_made_is_no_group(own: Path) -> None:
    groups = open_for_test(own)
    (own / f"onetool-{os.getpid()}-4321").touch()

    assert not groups.enter(4321)


@pytest.mark.parametrize(
    ("events", "killed"), [("oom 0\noom_kill 0\n", False), ("oom 1\noom_kill 3\n", True), ("", False)]
)
def test_the_group_of_a_kernel_tells_whether_it_took_too_much(own: Path, events: str, *, killed: bool) -> None:
    groups = open_for_test(own)
    groups.enter(4321)
    (own / f"onetool-{os.getpid()}-4321" / "memory.events").write_text(events)

    assert groups.leave(4321) is killed


def test_an_empty_group_is_removed_with_its_kernel_and_after_its_server(own: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    left, others = own / f"onetool-{ended.pid}-3", own / f"onetool-{os.getppid()}-3"
    for folder in (left, others):
        folder.mkdir()
    groups = open_for_test(own)
    mine = own / f"onetool-{os.getpid()}-4321"
    mine.mkdir()

    assert not groups.leave(4321)
    assert [folder.exists() for folder in (left, others, mine)] == [False, True, False]


def not_delegated(own: Path) -> None:
    if os.geteuid() == 0:
        os.removexattr(own, "user.delegate")
    else:
        pytest.skip("whoever owns the folder has it")


def without_controllers(own: Path) -> None:
    (own / "cgroup.controllers").write_text("cpu pids\n")


def with_others(own: Path) -> None:
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n{os.getppid()}\n")


def gone(own: Path) -> None:
    for file in own.iterdir():
        file.unlink()
    own.rmdir()


@pytest.mark.parametrize("spoil", [not_delegated, without_controllers, with_others, gone])
def test_a_group_that_is_not_ours_is_left_alone(own: Path, spoil: object) -> None:
    assert callable(spoil)
    spoil(own)
    before = sorted(own.iterdir()) if own.exists() else []

    assert open_groups(own, memory=MEMORY) is None
    assert (sorted(own.iterdir()) if own.exists() else []) == before


def test_without_a_group_there_is_nothing_to_divide() -> None:
    assert open_groups(None, memory=MEMORY) is None


@pytest.mark.parametrize(
    ("mounts", "group", "found"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/user.slice/a.scope\n", "/sys/fs/cgroup/user.slice/a.scope"),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/\n", "/sys/fs/cgroup"),
        ("cgroup /sys/fs/cgroup/memory cgroup rw 0 0\n", "4:memory:/x\n", None),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/../../other.scope\n", None),
        ("tmpfs /sys tmpfs rw 0 0\ncg /sys/fs/cgroup/unified cgroup2 rw 0 0\n", "4:memory:/x\n0::/y\n", "/sys/fs/cgroup/unified/y"),
    ],
    ids=["scope", "root", "version 1", "outside of what is mounted", "both"],
)  # fmt: skip
def test_our_own_group_is_found(tmp_path: Path, mounts: str, group: str, found: str | None) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mounts").write_text(mounts)
    (tmp_path / "self" / "cgroup").write_text(group)

    assert find_own_group(tmp_path) == (Path(found) if found else None)
    assert find_own_group(tmp_path / "nothing") is None


async def test_every_kernel_that_runs_something_is_in_a_group_of_its_own(own: Path) -> None:
    async with kernels(warm=1, group=own) as supply:
        async with supply.take() as kernel:
            entered = (own / f"onetool-{os.getpid()}-{kernel.pid}" / "cgroup.procs").read_text()
            assert entered == str(kernel.pid)
            (own / f"onetool-{os.getpid()}-{kernel.pid}" / "memory.events").write_text("oom_kill 1\n")
        await kernel.ended.wait()
        assert kernel.overrun == "memory"
        assert (await run(supply, "1 + 1")).value == 2
