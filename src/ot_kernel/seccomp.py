"""A seccomp filter as bytes: an allow-list of system calls, some of them only with certain arguments.

Written here because the one binding on PyPI needs a system library that small systems lack, and has not been
released for years. The program is built once in the zygote; a kernel loads it with a single call.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from ot_kernel import syscalls

# (AUDIT_ARCH constant, column in the tables of syscalls.py)
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _AND, _RETURN = 0x20, 0x15, 0x25, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32_BIT = 0x40000000

_CLONE_THREAD = 0x00010000
_PRCTL_OPTIONS = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1031, 1032)  # not F_SETOWN, F_SETSIG, F_SETLEASE
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # terminal questions, FIONREAD, FIONBIO, FIOCLEX
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_MASK = 1, 1, 0xF

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_OWN_PID = 0x7EADBEEF  # stands in the template where a kernel's own pid goes

Rule = list[bytes]


class SockFprog(ctypes.Structure):
    """struct sock_fprog: how many instructions, and where they are."""

    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def supports(machine: str) -> bool:
    """Whether we know the system call numbers of this machine."""
    return machine in _ARCHITECTURES


def build_template(machine: str) -> bytes:
    """The program for all kernels; `for_process` completes it for one of them."""
    arch, column = _ARCHITECTURES[machine]
    program = [
        _op(_LOAD, 4),
        _op(_JUMP_EQUAL, arch, 1, 0),
        _op(_RETURN, _KILL_PROCESS),
        _op(_LOAD, 0),
        _op(_JUMP_ABOVE, _X32_BIT - 1, 0, 1),
        _op(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    for number in (numbers[column] for numbers in syscalls.ALLOWED.values()):
        if number is None:
            continue
        program += [_op(_JUMP_EQUAL, number, 0, 1), _op(_RETURN, _ALLOW)]
    for number, rule in (
        (syscalls.CLONE[column], _masked(0, _CLONE_THREAD, _CLONE_THREAD)),
        # glibc falls back to clone, whose flags can be seen, when clone3 does not exist.
        (syscalls.CLONE3[column], [_op(_RETURN, _ERRNO | errno.ENOSYS)]),
        (syscalls.KILL[column], _one_of(0, (_OWN_PID,))),
        (syscalls.TGKILL[column], _one_of(0, (_OWN_PID,))),
        (syscalls.PRCTL[column], _one_of(0, _PRCTL_OPTIONS)),
        (syscalls.FCNTL[column], _one_of(1, _FCNTL_COMMANDS)),
        (syscalls.IOCTL[column], _one_of(1, _IOCTL_REQUESTS)),
        (syscalls.PRLIMIT64[column], _one_of(0, (0, _OWN_PID))),
        # Streams only: a datagram socket could be sent to any path.
        (syscalls.SOCKETPAIR[column], _masked(1, _SOCK_TYPE_MASK, _SOCK_STREAM)),
    ):
        program += [_op(_JUMP_EQUAL, number, 0, len(rule)), *rule]
    program.append(_op(_RETURN, _ERRNO | errno.EPERM))
    return b"".join(program)


def for_process(template: bytes, pid: int) -> bytes:
    """The template with `pid` as the only process that may be signalled or limited."""
    return template.replace(struct.pack("=I", _OWN_PID), struct.pack("=I", pid))


def load_filter(libc: ctypes.CDLL, program: bytes) -> None:
    """Put the calling process under the filter; it cannot be taken off. Raises OSError."""
    buffer = ctypes.create_string_buffer(program, len(program))
    prog = SockFprog(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(prog), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp filter was not accepted")


def _op(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF)


def _argument(index: int) -> bytes:
    """Load the low half of an argument (every argument we compare is an int, which the kernel truncates too)."""
    return _op(_LOAD, 16 + 8 * index)


def _one_of(index: int, values: tuple[int, ...]) -> Rule:
    rule = [_argument(index)]
    for value in values:
        rule += [_op(_JUMP_EQUAL, value, 0, 1), _op(_RETURN, _ALLOW)]
    return [*rule, _op(_RETURN, _ERRNO | errno.EPERM)]


def _masked(index: int, mask: int, wanted: int) -> Rule:
    return [
        _argument(index),
        _op(_AND, mask),
        _op(_JUMP_EQUAL, wanted, 0, 1),
        _op(_RETURN, _ALLOW),
        _op(_RETURN, _ERRNO | errno.EPERM),
    ]
