"""The seccomp filter of a confined program: no way around its files, its hosts and its own processes."""

from __future__ import annotations

import errno

from ot_confinement import refused_calls as refused
from ot_confinement.bpf import (
    ALLOW,
    AND,
    ARCHITECTURES,
    JUMP_ABOVE,
    JUMP_EQUAL,
    RETURN,
    Rule,
    argument,
    begin_program,
    decide_calls,
    op,
    refuse,
)

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable

_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_SOCK_STREAM, _SOCK_DGRAM, _SOCK_SEQPACKET = 1, 2, 5
_SOCK_TYPE_MASK = 0xF
_CLONE_NAMESPACES = 0x7E020000  # all that `clone` can make; the rest of them is left to `unshare` and `clone3`
_IOCTLS = (0x5412, 0x541C, 0x40086602, 0x401C5820)  # typing into a terminal, and attributes of files (chattr)
_MAP_SHARED_ANONYMOUS = 0x21
_WHOLE = 0xFFFFFFFF


def build_program_filter(machine: str, *, network: bool, metadata: bool, bounded: bool) -> bytes:
    """A filter for a program that may have connections, of its own namespace, and may change modes and times, or not.

    With `bounded` it has no memory but what its processes are seen to hold: pages that are shared outlive whoever
    wrote them, and count for nobody. Its sockets are those of the internet: one with a path in the file system would
    reach every other program's.
    """
    column = ARCHITECTURES[machine][1]
    program = [
        *begin_program(machine),
        op(JUMP_ABOVE, refused.NEWEST, 0, 1),
        *refuse(errno.ENOSYS),
        *_refuse_all(refused.UNKNOWN.values(), column, errno.ENOSYS),
        *_refuse_all(refused.ALWAYS.values(), column),
    ]
    if not network:
        program += _refuse_all(refused.NETWORK.values(), column)
    if not metadata:
        program += _refuse_all(refused.METADATA.values(), column)
    if bounded:
        program += _refuse_all(refused.HIDDEN_MEMORY.values(), column)
        shared = _bits_missing(3, _MAP_SHARED_ANONYMOUS)
        program += decide_calls([(refused.MMAP[column], shared)])
    # A pair of datagram sockets could be sent from to any path.
    pairs = _both((0, _WHOLE, (_AF_UNIX,)), (1, _SOCK_TYPE_MASK, (_SOCK_STREAM, _SOCK_SEQPACKET)))
    sockets = _both((0, _WHOLE, (_AF_INET, _AF_INET6)), (1, _SOCK_TYPE_MASK, (_SOCK_STREAM, _SOCK_DGRAM)))
    program += decide_calls(
        (
            (refused.CLONE[column], _one_of(0, _CLONE_NAMESPACES, (0,))),
            (refused.SOCKETPAIR[column], pairs),
            (refused.SOCKET[column], sockets if network else refuse()),
            (refused.IOCTL[column], _none_of(1, _IOCTLS)),
            *((numbers[column], _one_of(index, _WHOLE, (0,))) for numbers, index in refused.ABOUT_ITSELF.values()),
        )
    )
    program.append(op(RETURN, ALLOW))
    return b"".join(program)


def _refuse_all(calls: Iterable[tuple[int | None, int | None]], column: int, reason: int = errno.EPERM) -> Rule:
    numbers = [pair[column] for pair in calls]
    return decide_calls((number, refuse(reason)) for number in numbers if number is not None)


def _one_of(index: int, mask: int, values: tuple[int, ...]) -> Rule:
    """Allow the call if an argument, under a mask, is one of these."""
    return [*_unless_one_of(index, mask, values), op(RETURN, ALLOW)]


def _both(first: tuple[int, int, tuple[int, ...]], second: tuple[int, int, tuple[int, ...]]) -> Rule:
    return [*_unless_one_of(*first), *_unless_one_of(*second), op(RETURN, ALLOW)]


def _unless_one_of(index: int, mask: int, values: tuple[int, ...]) -> Rule:
    """Refuse the call unless an argument, under a mask, is one of these; otherwise go on."""
    over = [op(JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [argument(index), op(AND, mask), *over, *refuse()]


def _bits_missing(index: int, bits: int) -> Rule:
    """Allow the call unless an argument has all of these bits."""
    return [argument(index), op(AND, bits), op(JUMP_EQUAL, bits, 1, 0), op(RETURN, ALLOW), *refuse()]


def _none_of(index: int, values: tuple[int, ...]) -> Rule:
    found = [op(JUMP_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
    return [argument(index), *found, op(RETURN, ALLOW), *refuse()]
