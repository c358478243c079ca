"""Seccomp filters outside of a kernel: its tables of system calls, and what a filter says to a call."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from tests.availability import report_missing

# Debian's headers of this machine, and those for compiling for another one beside them; aarch64 has the generic numbers.
_HEADERS = {
    "x86_64": ("include/x86_64-linux-gnu/asm/unistd_64.h", "x86_64-linux-gnu/include/asm/unistd_64.h"),
    "aarch64": ("include/asm-generic/unistd.h", "aarch64-linux-gnu/include/asm-generic/unistd.h"),
}


def require_table(machine: str) -> dict[str, int]:
    """The kernel's own numbers of system calls on a machine, whichever this one is."""
    header = next(filter(Path.exists, (Path("/usr", name) for name in _HEADERS[machine])), None)
    if header is None:
        report_missing(f"the kernel's headers for {machine}", remedy="scripts/install-system-packages installs them.")
    text = header.read_text()
    numbers = {name: int(number) for name, number in re.findall(r"#define (__NR\w+)\s+(\d+)\b", text)}
    redirected = re.findall(r"#define (__NR_\w+)\s+(__NR3264_\w+)", text)
    numbers |= {name: numbers[other] for name, other in redirected if other in numbers}
    return {name.removeprefix("__NR_"): number for name, number in numbers.items()}


ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
I386, ARM = 0x40000003, 0x40000028  # what a program of 32 bits calls on them, and any program that means to (int 0x80)
X32 = 0x40000000  # a bit in the number of a call, on x86_64: a third table with pointers of 32 bits
X32_WITHOUT_BIT = range(512, 548)  # older kernels also have that table's own calls where no bit is set
ALLOW, KILL = 0x7FFF0000, 0x80000000
_STRICTEST_FIRST = (KILL, 0x00000000, 0x00030000, 0x00050000, 0x7FC00000, 0x7FF00000, 0x7FFC0000, ALLOW)


def decide(program: bytes, number: int, arguments: tuple[int, ...], *, arch: int) -> int:
    """What a filter says to a call, as `decide_all` does for several: the few instructions of Berkeley's machine that ours are made of."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(arguments + (0,) * 6)[:6])
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        else:
            holds = accumulator == value if code == 0x15 else accumulator > value
            assert code in {0x15, 0x25}
            at += if_true if holds else if_false


def decide_all(programs: list[bytes], number: int, arguments: tuple[int, ...] = (), *, arch: int) -> int:
    """What the kernel does about a call under several filters: what the strictest of them says."""
    answers = [decide(program, number, arguments, arch=arch) for program in programs]
    return min(answers, key=lambda answer: _STRICTEST_FIRST.index(answer & 0xFFFF0000))
