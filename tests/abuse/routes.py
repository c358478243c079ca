"""The routes that an attacker would take out of a run, as code; every one of them must be refused."""

from __future__ import annotations

TRY = """
def attempt(f):
    try:
        return "GOT IN: %r" % (f(),)
    except BaseException as error:
        return "refused: %s" % type(error).__name__
import os, signal, socket, sys
"""

NATIVE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
openat, openat2, socket_, io_uring_setup = (257, 56)[column], 437, (41, 198)[column], 425
clone, fork, vfork, open_ = (56, 220)[column], 57, 58, 2  # the last three on x86_64 only
ptrace, process_vm_readv, pidfd_open = (101, 117)[column], (310, 270)[column], 434
prlimit64, prctl, unshare = (302, 261)[column], (157, 167)[column], (272, 97)[column]
keyctl, bpf, perf_event_open = (250, 219)[column], (321, 280)[column], (298, 241)[column]
def syscall(*arguments):
    result = libc.syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""

ROUTES = {
    "reading the secrets file": "open({home!r} + '/secrets.yaml').read()",
    "reading a file of the home folder": "open({home!r} + '/diary.txt').read()",
    "listing the home folder": "os.listdir({home!r})",
    "reading through a link": "(os.symlink({home!r} + '/diary.txt', 'link'), open('link').read())",
    "reading through a hard link": "(os.link({home!r} + '/diary.txt', 'link'), open('link').read())",
    "reading by the raw system call": "os.read(syscall(open_, {home!r}.encode() + b'/diary.txt', 0), 10)",
    "reading by the raw call of today": "os.read(syscall(openat, -100, {home!r}.encode() + b'/diary.txt', 0), 10)",
    "openat2": "syscall(openat2, -100, {home!r}.encode() + b'/diary.txt', bytes(24), 24)",
    "reading up from the scratch folder": "open('../' * 20 + {home!r}[1:] + '/diary.txt').read()",
    "reading through a link upwards": "(os.symlink('../' * 20 + {home!r}[1:], 'up'), open('up/diary.txt').read())",
    "reading below a folder that is open": (
        "os.open('../' * 20 + {home!r}[1:] + '/diary.txt', os.O_RDONLY, dir_fd=os.open('.', os.O_RDONLY))"
    ),
    "listing the root": "(os.chdir('/'), os.listdir('.'))",
    "writing outside the scratch folder": "open({home!r} + '/planted', 'w')",
    "writing to the shared temporary folder": "open('/tmp/onetool-planted', 'w')",
    "shared memory": "open('/dev/shm/planted', 'w')",
    "removing a file": "os.unlink({home!r} + '/diary.txt')",
    "changing a file's mode": "os.chmod({home!r} + '/diary.txt', 0o777)",
    "changing a file's times": "os.utime({home!r} + '/diary.txt')",
    "changing a file's owner": "os.chown({home!r} + '/diary.txt', 1, 1)",
    "another run's scratch folder": "os.listdir(os.path.dirname(os.getcwd()))",
    "a TCP connection": "socket.create_connection(('127.0.0.1', 9))",
    "a UDP socket by the raw call": "syscall(socket_, 2, 2, 0)",
    "a unix socket by the raw call": "syscall(socket_, 1, 1, 0)",
    "shared memory by mapping": "__import__('mmap').mmap(-1, 2**20)",
    "zeros without end": "open('/dev/zero', 'rb')",
    "a file in flight between sockets": (
        "socket.send_fds(socket.socketpair()[0], [b'x'], [os.open('x', os.O_CREAT | os.O_RDWR)])"
    ),
    "a larger pipe": "__import__('fcntl').fcntl(os.pipe()[0], 1031, 2**20)",
    "a pair of sockets of another family": "socket.socketpair(30, socket.SOCK_STREAM)",
    "a pair of datagram sockets": "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    "a netlink socket": "syscall(socket_, 16, 3, 0)",
    "io_uring": "syscall(io_uring_setup, 8, ctypes.create_string_buffer(120))",
    "starting a program": "os.execv('/bin/true', ['true'])",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {{}})",
    "vfork by the raw call": "syscall(vfork)",
    "fork by the raw call": "syscall(fork)",
    "clone by the raw call": "syscall(clone, 17, 0, 0, 0, 0)",
    "a subprocess": "__import__('subprocess').check_output(['true'])",
    "the list of processes": "os.listdir('/proc')",
    "the server's command line": "open('/proc/%d/cmdline' % os.getppid()).read()",
    "its own environment before us": "open('/proc/self/environ').read()",
    "the parent's memory": "open('/proc/%d/mem' % os.getppid(), 'rb')",
    "ptrace": "syscall(ptrace, 16, os.getppid(), 0, 0)",
    "process_vm_readv": "syscall(process_vm_readv, os.getppid(), 0, 0, 0, 0, 0)",
    "pidfd_open": "syscall(pidfd_open, os.getppid(), 0)",
    "signalling the parent": "os.kill(os.getppid(), 0)",
    "signalling everything": "os.kill(-1, 0)",
    "signalling its group": "os.killpg(os.getpgrp(), 0)",
    "limits of the parent": "syscall(prlimit64, os.getppid(), 7, 0, ctypes.create_string_buffer(16))",
    "surviving the parent": "syscall(prctl, 1, 0, 0, 0, 0)",
    "dumpable again": "syscall(prctl, 4, 1, 0, 0, 0)",
    "a second look at seccomp": "syscall(prctl, 21, 0, 0, 0, 0)",
    "an anonymous file": "os.memfd_create('x')",
    "mounting": "libc.mount(b'none', b'.', b'tmpfs', 0, None) == 0 or 1 / 0",
    "a new user namespace": "syscall(unshare, 0x10000000)",
    "a key ring": "syscall(keyctl, 0, -3, 0)",
    "bpf": "syscall(bpf, 0, 0, 0)",
    "perf": "syscall(perf_event_open, 0, 0, -1, -1, 0)",
    "raising its own memory limit": "__import__('resource').setrlimit(2, (2**34, 2**34))",
    "changing root": "os.chroot('.')",
    "becoming another user": "os.setuid(65534)",
    "a terminal": "os.open('/dev/tty', os.O_RDWR)",
    "making a device": "os.mknod('null', 0o666 | 0o020000, os.makedev(1, 3))",
    "calling a tool past its policy": "[demo][0].bar()",
    "calling a tool past its policy, by name": "getattr(demo, 'bar')()",
}


def is_native(attempt: str) -> bool:
    """True if it needs native code, which the engine wasm does not have."""
    return any(word in attempt for word in ("syscall(", "libc.", "ctypes"))


def is_known(attempt: str, machine: str) -> bool:
    """True if this kind of machine has the system call that the attempt makes."""
    return machine == "x86_64" or not any(f"syscall({call}" in attempt for call in ("open_", "fork", "vfork"))


def write_attempt(attempt: str, home: str) -> str:
    """Write the command that makes an attempt; its answer starts with "refused" if it was."""
    return f"{TRY}{NATIVE if is_native(attempt) else ''}\nattempt(lambda: {attempt.format(home=home)})"
