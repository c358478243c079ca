"""Seccomp filters: an allow-list that zygote and kernels share, and what a kernel gives up beyond it.

Written here because the one binding on PyPI needs a system library that small systems lack, and has not been
released for years. Of two filters the stricter answer counts, so a kernel only adds what sets it apart.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import sys

from ot_confinement import syscalls

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable

# (AUDIT_ARCH constant, column in the tables of system calls)
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

LOAD, JUMP_EQUAL, JUMP_ABOVE, AND, RETURN = 0x20, 0x15, 0x25, 0x54, 0x06
ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32_BIT = 0x40000000

Rule = list[bytes]


def op(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    """Return one instruction; a jump skips that many of the next ones."""
    return struct.pack("=HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF)


def refuse(reason: int = errno.EPERM) -> Rule:
    """Fail the call with an error of `errno`."""
    return [op(RETURN, _ERRNO | reason)]


def begin_program(machine: str) -> Rule:
    """Load the number of the call; calls of another machine are never made."""
    return [
        op(LOAD, 4),
        op(JUMP_EQUAL, ARCHITECTURES[machine][0], 1, 0),
        op(RETURN, _KILL_PROCESS),
        op(LOAD, 0),
        op(JUMP_ABOVE, _X32_BIT - 1, 0, 1),
        *refuse(errno.ENOSYS),
    ]


def decide_calls(rules: Iterable[tuple[int, Rule]]) -> Rule:
    """Each call with what is decided about it; the number of the call must still be loaded."""
    return [step for number, rule in rules for step in (op(JUMP_EQUAL, number, 0, len(rule)), *rule)]


def demand(index: int, values: tuple[int, ...], mask: int | None = None) -> Rule:
    """Refuse the call unless an argument (masked, if there is a mask) is one of these; otherwise go on."""
    found = [op(JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [*_load(index, mask), *found, *refuse()]


def allow_only(index: int, values: tuple[int, ...], mask: int | None = None) -> Rule:
    """Allow the call if an argument (masked, if there is a mask) is one of these; otherwise refuse it."""
    return [*demand(index, values, mask), op(RETURN, ALLOW)]


def refuse_if(index: int, values: tuple[int, ...], mask: int | None = None) -> Rule:
    """Refuse the call if an argument (masked, if there is a mask) is one of these; otherwise go on."""
    return [*_load(index, mask), *(step for value in values for step in (op(JUMP_EQUAL, value, 0, 1), *refuse()))]


def _load(index: int, mask: int | None) -> Rule:
    """Load the low half of an argument (every argument we compare is an int, which the kernel truncates too)."""
    return [op(LOAD, 16 + 8 * index), *([] if mask is None else [op(AND, mask)])]


_CLONE_THREAD = 0x00010000
_PRCTL_OPTIONS = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
# Not F_SETOWN, F_SETSIG, F_SETLEASE; nor F_SETPIPE_SZ, since what a pipe holds is counted nowhere.
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # terminal questions, FIONREAD, FIONBIO, FIOCLEX
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF
_O_TRUNC, _O_ACCMODE = 0o1000, 0o3
_TRUNCATES = (_O_TRUNC, _O_TRUNC | _O_ACCMODE)  # of a file opened for reading, or for nothing at all
_MAP_ANONYMOUS, _MAP_TYPE = 0x20, 0xF
_SHARED_ANONYMOUS = (_MAP_ANONYMOUS | 1, _MAP_ANONYMOUS | 3)  # MAP_SHARED, MAP_SHARED_VALIDATE
_MAP_GROWSDOWN, _MAP_HUGETLB = 0x100, 0x40000

_REGISTER_BUFFERS = 0

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_OWN_PID = 0x7EADBEEF  # stands in the template where a kernel's own pid goes


class SockFprog(ctypes.Structure):
    """struct sock_fprog: how many instructions, and where they are."""

    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def supports(machine: str, *, largest: int = sys.maxsize) -> bool:
    """True if the system call numbers of this machine are known, for a program like this one.

    A program of 32 bits makes the calls of another machine, whatever the machine says of itself.
    """
    return machine in ARCHITECTURES and largest > 2**32


def build_shared_filter(machine: str, *, network: bool = False, guards_truncation: bool = True) -> bytes:
    """An allow-list of what zygote and kernels may call. The zygote loads it, and every kernel is born under it.

    Where Landlock does not guard truncation, a file is truncated only by whoever may open it for writing.
    """
    column = ARCHITECTURES[machine][1]
    program = begin_program(machine)
    narrowed = (syscalls.CLONE, syscalls.KILL, syscalls.TGKILL, syscalls.PRCTL, syscalls.PRLIMIT64)
    if not guards_truncation:
        program += decide_calls(_truncation_rules(column))
    sockets = syscalls.NETWORK if network else {}
    for numbers in (*{**syscalls.ALLOWED, **sockets, **syscalls.ZYGOTE_ONLY}.values(), *narrowed):
        number = numbers[column]
        if number is not None:
            program += [op(JUMP_EQUAL, number, 0, 1), op(RETURN, ALLOW)]
    program += decide_calls(
        (
            # Memory only where RLIMIT_DATA and the watch count it: what is shared stays when it is no longer mapped.
            (
                syscalls.MMAP[column],
                [
                    *refuse_if(3, _SHARED_ANONYMOUS, _MAP_ANONYMOUS | _MAP_TYPE),
                    *refuse_if(3, (_MAP_GROWSDOWN,), _MAP_GROWSDOWN),
                    *refuse_if(3, (_MAP_HUGETLB,), _MAP_HUGETLB),
                    op(RETURN, ALLOW),
                ],
            ),
            # glibc falls back to clone, whose flags can be seen, when clone3 does not exist.
            (syscalls.CLONE3[column], refuse(errno.ENOSYS)),
            (syscalls.FCNTL[column], allow_only(1, _FCNTL_COMMANDS)),
            (syscalls.IOCTL[column], allow_only(1, _IOCTL_REQUESTS)),
            # The zygote pins the pages that kernels write to (`ot_kernel/pinned_pages.py`).
            (syscalls.IO_URING_REGISTER[column], allow_only(1, (_REGISTER_BUFFERS,))),
            # Streams only: a datagram socket could be sent to any path.
            (syscalls.SOCKETPAIR[column], [*demand(0, (_AF_UNIX,)), *allow_only(1, (_SOCK_STREAM,), _SOCK_TYPE_MASK)]),
        )
    )
    program += refuse()
    return b"".join(program)


def build_own_filter(machine: str, *, network: bool = False) -> bytes:
    """A filter that takes away what only the zygote may call. Short: loading one takes time by its length."""
    column = ARCHITECTURES[machine][1]
    needed = syscalls.NETWORK if network else {}
    program = [op(LOAD, 0)]
    program += decide_calls(
        (
            (syscalls.CLONE[column], allow_only(0, (_CLONE_THREAD,), _CLONE_THREAD)),
            (syscalls.KILL[column], allow_only(0, (_OWN_PID,))),
            (syscalls.TGKILL[column], allow_only(0, (_OWN_PID,))),
            (syscalls.PRCTL[column], allow_only(0, _PRCTL_OPTIONS)),
            (syscalls.PRLIMIT64[column], allow_only(0, (0, _OWN_PID))),
            (syscalls.IO_URING_REGISTER[column], refuse()),
            *((numbers[column], refuse()) for name, numbers in syscalls.ZYGOTE_ONLY.items() if name not in needed),
        )
    )
    program.append(op(RETURN, ALLOW))
    return b"".join(program)


def _truncation_rules(column: int) -> list[tuple[int, Rule]]:
    """Close the ways to truncate a file that Landlock does not see: by name, and by opening it for something else."""
    rules: dict[str, Rule] = {"truncate": refuse()}
    for name, flags in (("open", 1), ("openat", 2)):
        rules[name] = [*refuse_if(flags, _TRUNCATES, _O_TRUNC | _O_ACCMODE), op(RETURN, ALLOW)]
    numbers = {name: syscalls.ALLOWED[name][column] for name in rules}
    return [(number, rules[name]) for name, number in numbers.items() if number is not None]


class Filter:
    """A program in memory, complete but for the pid of who loads it; built before the fork."""

    def __init__(self, libc: ctypes.CDLL, program: bytes) -> None:
        self._libc = libc
        self._program = ctypes.create_string_buffer(program, len(program))
        self._prog = SockFprog(len(program) // 8, ctypes.cast(self._program, ctypes.c_void_p))
        own_pid = struct.pack("=I", _OWN_PID)
        self._places = [place for place in range(0, len(program), 4) if program[place : place + 4] == own_pid]

    def load(self, pid: int) -> None:
        """Put the calling process, `pid`, under the filter; it cannot be taken off. Raises OSError."""
        for place in self._places:
            struct.pack_into("=I", self._program, place, pid)
        if self._libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._prog), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp filter was not accepted")
