"""The allow-list of system calls, against the kernel's own tables and against itself."""

from __future__ import annotations

import struct

import pytest

from ot_confinement import seccomp, syscalls
from tests.filter_machine import (
    ALLOW,
    ARCHITECTURES,
    ARM,
    I386,
    KILL,
    X32,
    X32_WITHOUT_BIT,
    decide,
    decide_all,
    require_table,
)

CONDITIONAL = {
    "clone": syscalls.CLONE,
    "clone3": syscalls.CLONE3,
    "kill": syscalls.KILL,
    "tgkill": syscalls.TGKILL,
    "prctl": syscalls.PRCTL,
    "fcntl": syscalls.FCNTL,
    "ioctl": syscalls.IOCTL,
    "socketpair": syscalls.SOCKETPAIR,
    "prlimit64": syscalls.PRLIMIT64,
    "mmap": syscalls.MMAP,
}


@pytest.mark.parametrize(("column", "machine"), [(0, "x86_64"), (1, "aarch64")])
def test_every_number_is_the_one_that_the_kernel_gives_to_that_name(column: int, machine: str) -> None:
    table = require_table(machine)
    ours = {**syscalls.ALLOWED, **CONDITIONAL, **syscalls.NETWORK, **syscalls.ZYGOTE_ONLY}
    ours["io_uring_register"] = syscalls.IO_URING_REGISTER

    wrong = {
        name: (numbers[column], table.get(name))
        for name, numbers in ours.items()
        if numbers[column] is not None and table.get(name) != numbers[column]
    }

    assert wrong == {}


@pytest.mark.parametrize("column", [0, 1], ids=["x86_64", "aarch64"])
def test_no_number_is_allowed_twice_or_both_always_and_under_conditions(column: int) -> None:
    tables = (syscalls.ALLOWED, CONDITIONAL, {**syscalls.NETWORK, **syscalls.ZYGOTE_ONLY})
    numbers = [pair[column] for table in tables for pair in table.values() if pair[column] is not None]

    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    "name",
    [
        "socket", "connect", "bind", "listen", "accept", "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv",
        "process_vm_writev", "pidfd_open", "pidfd_send_signal", "pidfd_getfd", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
        "mount", "umount2", "unshare", "setns", "chroot", "pivot_root", "io_uring_setup", "bpf", "perf_event_open",
        "userfaultfd", "keyctl", "add_key", "chmod", "fchmod", "fchmodat", "chown", "setuid", "setgid", "capset", "seccomp",
        "memfd_create", "memfd_secret", "sendmsg", "mmap", "shmget", "kexec_load", "init_module", "reboot", "open_by_handle_at", "personality", "prctl",
    ],
)  # fmt: skip
def test_what_leads_out_of_a_kernel_is_never_simply_allowed(name: str) -> None:
    assert name not in syscalls.ALLOWED


def programs(machine: str) -> list[bytes]:
    """The filters of a kernel with the pid 4321, in the order in which they were loaded."""
    own_pid = struct.pack("=I", seccomp._OWN_PID)
    filters = (seccomp.build_shared_filter(machine), seccomp.build_own_filter(machine))
    return [program.replace(own_pid, struct.pack("=I", 4321)) for program in filters]


def is_allowed(machine: str, name_or_number: str | int, *arguments: int) -> bool:
    """For a kernel, under all its filters."""
    column, arch = ARCHITECTURES[machine]
    table = {**syscalls.ALLOWED, **CONDITIONAL, **syscalls.ZYGOTE_ONLY}
    number = table[name_or_number][column] if isinstance(name_or_number, str) else name_or_number
    assert number is not None
    return all(decide(program, number, arguments, arch=arch) == 0x7FFF0000 for program in programs(machine))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_programs_are_such_that_the_kernel_can_load_them(machine: str) -> None:
    for program in programs(machine):
        steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
        assert len(program) % 8 == 0
        assert len(steps) <= 4096
        for at, (code, if_true, if_false, _) in enumerate(steps):
            if code in {0x15, 0x25}:
                assert at + 1 + max(if_true, if_false) < len(steps)
        assert steps[-1][0] == 0x06


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_call_on_the_list_is_allowed_and_no_other(machine: str) -> None:
    column = ARCHITECTURES[machine][0]
    listed = {numbers[column] for numbers in syscalls.ALLOWED.values() if numbers[column] is not None}
    conditional = {numbers[column] for numbers in CONDITIONAL.values()}

    for number in {*range(600)} - conditional:
        assert is_allowed(machine, number) is (number in listed)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_connections_can_be_allowed(machine: str) -> None:
    column, arch = ARCHITECTURES[machine]
    shut, open_ = (seccomp.build_shared_filter(machine, network=network) for network in (False, True))

    for name, numbers in syscalls.NETWORK.items():
        assert name in syscalls.ZYGOTE_ONLY or decide(shut, numbers[column], (), arch=arch) != 0x7FFF0000
        assert decide(open_, numbers[column], (), arch=arch) == 0x7FFF0000
        assert decide(seccomp.build_own_filter(machine, network=True), numbers[column], (), arch=arch) == 0x7FFF0000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("flags", "allowed"),
    [(0o0, True), (0o3, True), (0o1101, True), (0o1102, True), (0o1000, False), (0o1003, False), (0o1100, False)],
    ids=oct,
)
def test_where_landlock_does_not_guard_truncation_seccomp_does(machine: str, flags: int, *, allowed: bool) -> None:
    column, arch = ARCHITECTURES[machine]
    program = seccomp.build_shared_filter(machine, guards_truncation=False)
    calls = {"openat": (0, 0, flags), "open": (0, flags)}

    for name, arguments in calls.items():
        number = syscalls.ALLOWED[name][column]
        assert number is None or (decide(program, number, arguments, arch=arch) == 0x7FFF0000) is allowed
    assert decide(program, syscalls.ALLOWED["truncate"][column] or 0, (), arch=arch) != 0x7FFF0000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(
    ("call", "allowed"),
    [
        (("clone", 0x00010000 | 0xF00), True),  # a thread
        (("clone", 17), False),  # a process
        (("clone3", 0), False),
        (("kill", 4321, 9), True),
        (("kill", 1, 9), False),
        (("kill", 0, 9), False),
        (("kill", 2**64 - 1, 9), False),
        (("kill", 2**64 - 4321, 9), False),
        (("tgkill", 4321, 4322, 9), True),
        (("tgkill", 4320, 4321, 9), False),
        (("prctl", 15), True),  # the name of a thread
        (("prctl", 1), False),  # the signal at the parent's death
        (("prctl", 22), False),
        (("prlimit64", 0, 7), True),
        (("prlimit64", 4321, 7), True),
        (("prlimit64", 4320, 7), False),
        (("fcntl", 4, 3), True),
        (("fcntl", 4, 8, 1), False),  # to be signalled for somebody else
        (("ioctl", 1, 0x5401), True),
        (("ioctl", 1, 0x5412), False),  # typing into a terminal
        (("socketpair", 1, 1 | 0o2000000), True),
        (("socketpair", 1, 2), False),
        (("socketpair", 1, 5), False),
        (("socketpair", 30, 1), False),  # AF_TIPC, which leads out of the machine
        (("socketpair", 2, 1), False),
        (("mmap", 0, 4096, 3, 0x22), True),  # private and anonymous
        (("mmap", 0, 4096, 3, 0x20022), True),  # a thread's stack
        (("mmap", 0, 4096, 5, 0x802), True),  # a library
        (("mmap", 0, 4096, 3, 0x1), True),  # a file of its own
        (("mmap", 0, 4096, 3, 0x21), False),
        (("mmap", 0, 4096, 3, 0x23), False),
        (("mmap", 0, 4096, 3, 0x4021), False),
        (("mmap", 0, 4096, 3, 2**32 | 0x21), False),
        (("mmap", 0, 4096, 3, 0x122), False),  # grows downwards, and counts as a stack
        (("mmap", 0, 4096, 3, 0x40022), False),  # huge pages, which no figure shows
        (("fcntl", 4, 1031, 2**20), False),  # a larger pipe
    ],
    ids=str,
)
def test_some_calls_depend_on_their_arguments(
    call: tuple[str, *tuple[int, ...]], machine: str, *, allowed: bool
) -> None:
    assert is_allowed(machine, *call) is allowed


@pytest.mark.parametrize(("machine", "other"), [("x86_64", 0x40000003), ("aarch64", 0x40000028)])
def test_another_machines_calls_are_never_made(machine: str, other: int) -> None:
    shared = programs(machine)[0]

    assert decide(shared, 0, (), arch=other) == 0x80000000
    assert decide(shared, 0x40000000, (), arch=ARCHITECTURES[machine][1]) & 0x7FFF0000 == 0x00050000


@pytest.mark.parametrize(("machine", "other"), [("x86_64", I386), ("aarch64", ARM)])
@pytest.mark.parametrize("arguments", [(), (4321, 4321), (0x00010000,), (1, 1)], ids=str)
def test_no_call_of_another_table_is_made_by_a_kernel(machine: str, other: int, arguments: tuple[int, ...]) -> None:
    for number in (*range(600), 0x0F0005, *(X32 | number for number in range(600))):
        assert decide_all(programs(machine), number, arguments, arch=other) == KILL


@pytest.mark.parametrize("arguments", [(), (4321, 4321), (0x00010000,), (1, 1)], ids=str)
def test_no_call_with_pointers_of_32_bits_is_made_by_a_kernel(arguments: tuple[int, ...]) -> None:
    arch = ARCHITECTURES["x86_64"][1]
    numbers = [*(X32 | number for number in (*range(600), 0x3FFFFFFF)), *X32_WITHOUT_BIT, 0xFFFFFFFF, 0x80000000]

    assert [n for n in numbers if decide_all(programs("x86_64"), n, arguments, arch=arch) == ALLOW] == []


@pytest.mark.parametrize(
    ("machine", "largest", "supported"),
    [
        ("x86_64", 2**63 - 1, True),
        ("aarch64", 2**63 - 1, True),
        ("mips", 2**63 - 1, False),
        ("x86_64", 2**31 - 1, False),  # i386 or x32, on a kernel that says x86_64
        ("aarch64", 2**31 - 1, False),  # arm, as on many a small computer
    ],
)
def test_a_machine_whose_calls_are_not_known_is_not_supported(machine: str, largest: int, *, supported: bool) -> None:
    assert seccomp.supports(machine, largest=largest) is supported
