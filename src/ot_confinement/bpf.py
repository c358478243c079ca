"""The few instructions of Berkeley's packet filter that seccomp filters are made of."""

from __future__ import annotations

import errno
import struct

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
