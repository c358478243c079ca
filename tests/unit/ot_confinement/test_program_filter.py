"""The calls that a confined program is refused, on both machines, against the kernel's own tables."""

from __future__ import annotations

import errno

import pytest

from ot_confinement import program_filter as refused
from ot_confinement import syscalls
from ot_confinement.program_filter import build_program_filter
from tests.filter_machine import ARCHITECTURES, ARM, I386, KILL, X32, X32_WITHOUT_BIT, decide, require_table

ALLOWED = 0x7FFF0000
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    **refused.ALWAYS,
    **refused.UNKNOWN,
    **syscalls.CONNECTIONS,
    **refused.METADATA,
    **refused.HIDDEN_MEMORY,
    **{name: numbers for name, (numbers, _) in refused.ABOUT_ITSELF.items()},
    "clone": syscalls.CLONE,
    "ioctl": syscalls.IOCTL,
    "mmap": syscalls.MMAP,
    "socket": syscalls.NETWORK["socket"],
    "socketpair": syscalls.SOCKETPAIR,
}


def answer(machine: str, call: tuple[str, *tuple[int, ...]], **allowed: bool) -> int:
    """What the filter of a program says; without `allowed` it has nothing that it could have."""
    column, arch = ARCHITECTURES[machine]
    program = build_program_filter(machine, **{"network": False, "metadata": False, "bounded": True, **allowed})
    name, *arguments = call
    number = NUMBERS[str(name)][column]
    assert number is not None
    return decide(program, number, tuple(map(int, arguments)), arch=arch)


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_every_number_is_the_one_that_the_kernel_gives_to_that_name(column: int, machine: str) -> None:
    table = require_table(machine)
    newest = max(table.values())

    wrong = {
        name: (numbers[column], table.get(name))
        for name, numbers in NUMBERS.items()
        if (number := numbers[column]) is not None and number <= newest and table.get(name) != number
    }

    assert wrong == {}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_leads_out_is_refused(machine: str) -> None:
    column = ARCHITECTURES[machine][0]
    tables = (refused.ALWAYS, refused.UNKNOWN, syscalls.CONNECTIONS, refused.METADATA, refused.HIDDEN_MEMORY)
    names = [name for table in tables for name, numbers in table.items() if numbers[column] is not None]

    assert [name for name in names if answer(machine, (name,)) == ALLOWED] == []


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("call", "opened", "allowed"),
    [
        (("socket", 2, 1), {"network": True}, True),
        (("socket", 10, 2 | 0o2000000), {"network": True}, True),
        (("socket", 1, 1), {"network": True}, False),  # a path in the file system
        (("socket", 16, 3), {"network": True}, False),  # netlink
        (("socket", 2, 3), {"network": True}, False),  # raw
        (("socket", 40, 1), {"network": True}, False),  # the host of a virtual machine
        (("socket", 2, 1), {}, False),
        (("socketpair", 1, 1 | 0o4000), {}, True),
        (("socketpair", 1, 5), {}, True),
        (("socketpair", 1, 2), {}, False),  # datagrams go to any path
        (("socketpair", 2, 1), {}, False),
        (("clone", 17), {}, True),  # a process
        (("clone", 0x00010000 | 0xF00), {}, True),  # a thread
        (("clone", 0x10000000 | 17), {}, False),  # in a user namespace
        (("clone", 0x40000000 | 17), {}, False),
        (("clone", 0x00020000 | 17), {}, False),
        (("prlimit64", 0, 7), {}, True),
        (("prlimit64", 4321, 7), {}, False),
        (("setpriority", 0, 0, 19), {}, True),
        (("setpriority", 0, 4321, 19), {}, False),
        (("ioctl", 1, 0x5401), {}, True),
        (("ioctl", 1, 0x5412), {}, False),  # typing into a terminal
        (("mmap", 0, 4096, 3, 0x22), {}, True),
        (("mmap", 0, 4096, 3, 0x01), {}, True),  # a file
        (("mmap", 0, 4096, 3, 0x21), {}, False),
        (("mmap", 0, 4096, 3, 0x23), {}, False),
        (("mmap", 0, 4096, 3, 0x21), {"bounded": False}, True),
        (("memfd_create",), {"bounded": False}, True),
        (("fchmodat",), {"metadata": True}, True),
        (("connect",), {"network": True}, True),
    ],
    ids=str,
)
def test_some_calls_depend_on_their_arguments_and_on_what_is_open(
    machine: str, call: tuple[str, *tuple[int, ...]], opened: dict[str, bool], *, allowed: bool
) -> None:
    assert (answer(machine, call, **opened) == ALLOWED) is allowed


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_that_nobody_knew_do_not_exist(machine: str) -> None:
    arch = ARCHITECTURES[machine][1]
    program = build_program_filter(machine, network=True, metadata=True, bounded=False)

    assert decide(program, refused.NEWEST + 1, (), arch=arch) == 0x00050000 | errno.ENOSYS
    assert decide(program, 0x40000000, (), arch=arch) == 0x00050000 | errno.ENOSYS
    assert decide(program, 0, (), arch=0x40000003) == 0x80000000


@pytest.mark.parametrize("open_", [False, True])
@pytest.mark.parametrize(("machine", "other"), [("x86_64", I386), ("aarch64", ARM)])
def test_no_call_of_another_table_is_made(machine: str, other: int, *, open_: bool) -> None:
    program = build_program_filter(machine, network=open_, metadata=open_, bounded=not open_)

    for number in (*range(600), 0x0F0005, *(X32 | number for number in range(600))):
        assert decide(program, number, (), arch=other) == KILL


@pytest.mark.parametrize("open_", [False, True])
def test_no_call_with_pointers_of_32_bits_is_made(*, open_: bool) -> None:
    program = build_program_filter("x86_64", network=open_, metadata=open_, bounded=not open_)
    arch = ARCHITECTURES["x86_64"][1]

    for number in (*(X32 | number for number in (*range(600), 0x3FFFFFFF)), *X32_WITHOUT_BIT, 0xFFFFFFFF):
        assert decide(program, number, (), arch=arch) == 0x00050000 | errno.ENOSYS
