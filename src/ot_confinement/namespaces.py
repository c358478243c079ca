"""Namespaces of its own for a program: a network without a way out, and a file system that is read-only elsewhere."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def enter_namespaces(libc: ctypes.CDLL, *, network: bool) -> None:
    """Leave the mounts, and with `network` the network, of everybody else. Raises OSError.

    Where that takes rights that the process lacks, it gets them in a user namespace, in which it stays the same user.
    """
    wanted = _CLONE_NEWNS | (_CLONE_NEWNET if network else 0)
    try:
        _check(libc.unshare(wanted))
    except PermissionError:
        user, group = os.geteuid(), os.getegid()
        _check(libc.unshare(wanted | _CLONE_NEWUSER))
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")


def make_read_only(libc: ctypes.CDLL, *, writable: tuple[str, ...]) -> None:
    """Make every mount read-only but these places, as far as they were not; in a mount namespace. Raises OSError.

    Landlock says nothing about modes, owners, times and attributes of files: this holds those too.
    """
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))
    kept = [os.fsencode(path) for path in sorted(writable) if os.path.exists(path) and not _is_read_only(path)]
    for path in kept:
        _check(libc.mount(path, path, None, ctypes.c_ulong(_MS_BIND | _MS_REC), None))
    _set_attributes(libc, b"/", _AT_RECURSIVE, _MountAttributes(set=_RDONLY))
    for path in kept:
        _set_attributes(libc, path, 0, _MountAttributes(clear=_RDONLY))
    try:
        os.chdir(os.getcwd())  # one of these places may lie above it by now
    except OSError:
        pass  # it has no name any more, or never had one that we may use


def bring_loopback_up() -> None:
    """Let the programs of a network namespace talk to each other, and to whoever listens there. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack_from("h", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request), 16)[0]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def _is_read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _set_attributes(libc: ctypes.CDLL, path: bytes, flags: int, attributes: _MountAttributes) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _check(libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, flags, ctypes.byref(attributes), size))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno() or errno.EPERM
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
