"""The seccomp filter of a confined program: no way around its files, its hosts and its own processes."""

from __future__ import annotations

import errno

from ot_confinement import refused_calls as refused
from ot_confinement.bpf import (
    ALLOW,
    ARCHITECTURES,
    JUMP_ABOVE,
    RETURN,
    Rule,
    allow_only,
    begin_program,
    decide_calls,
    demand,
    op,
    refuse,
    refuse_if,
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
        shared = [*refuse_if(3, (_MAP_SHARED_ANONYMOUS,), _MAP_SHARED_ANONYMOUS), op(RETURN, ALLOW)]
        program += decide_calls([(refused.MMAP[column], shared)])
    # A pair of datagram sockets could be sent from to any path.
    pairs = [*demand(0, (_AF_UNIX,)), *allow_only(1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPE_MASK)]
    sockets = [*demand(0, (_AF_INET, _AF_INET6)), *allow_only(1, (_SOCK_STREAM, _SOCK_DGRAM), _SOCK_TYPE_MASK)]
    program += decide_calls(
        (
            (refused.CLONE[column], allow_only(0, (0,), _CLONE_NAMESPACES)),
            (refused.SOCKETPAIR[column], pairs),
            (refused.SOCKET[column], sockets if network else refuse()),
            (refused.IOCTL[column], [*refuse_if(1, _IOCTLS), op(RETURN, ALLOW)]),
            *((numbers[column], allow_only(index, (0,))) for numbers, index in refused.ABOUT_ITSELF.values()),
        )
    )
    program.append(op(RETURN, ALLOW))
    return b"".join(program)


def _refuse_all(calls: Iterable[tuple[int | None, int | None]], column: int, reason: int = errno.EPERM) -> Rule:
    numbers = [pair[column] for pair in calls]
    return decide_calls((number, refuse(reason)) for number in numbers if number is not None)
