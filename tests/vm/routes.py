"""Routes out of a run that only this processor has, or only a system with its own init; every one must be refused."""

from __future__ import annotations

# mov eax, 20 (getpid of 32 bits); int 0x80; ret
_INTERRUPT = "b8 14 00 00 00 cd 80 c3"

ENDS_THE_RUN = "a call of 32 bits"
"""The system kills whoever makes it, so it is no exception that the code could see."""

ROUTES_HERE = {
    ENDS_THE_RUN: (
        "(lambda m: (m.write(bytes.fromhex('"
        + _INTERRUPT
        + "')), ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()))"
        "(__import__('mmap').mmap(-1, 4096, flags=34, prot=7))"
    ),
    "a call of x32": "syscall(0x40000000 + openat, -100, {home!r}.encode() + b'/diary.txt', 0)",
    "clone3": "syscall(435, ctypes.create_string_buffer(88), 88)",
    "leaving its control group": "open('/sys/fs/cgroup/cgroup.procs', 'w')",
    "listing control groups": "os.listdir('/sys/fs/cgroup')",
    "the log of the system": "syscall(103, 3, ctypes.create_string_buffer(4096), 4096)",
    "the disk itself": "open('/dev/vda', 'rb')",
    "the memory of the machine": "open('/dev/mem', 'rb')",
    "switching it off": "syscall(169, 0xfee1dead, 672274793, 0)",
    "another name for the machine": "syscall(170, b'own', 3)",
    "setting the clock": "__import__('time').clock_settime(0, 0)",
    "a module for the system": "syscall(313, 0, b'', 0)",
    "swap": "syscall(167, b'/dev/vda', 0)",
    "input and output ports": "syscall(172, 3)",
    "a watch of files": "syscall(300, 0, 0)",
    "a file by its handle": "syscall(304, -100, ctypes.create_string_buffer(128), 0)",
    "a new root": "syscall(155, b'.', b'.')",
    "userfaultfd": "syscall(323, 0)",
}
