"""Namespaces for a process: a network without a way out, files that are read-only elsewhere, mounts of its own."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE, _MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x40000, 0x80000
_MEMORY_FLAGS = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
_MNT_DETACH = 2
_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY = 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace"))


def enter_namespaces(libc: ctypes.CDLL, *, network: bool) -> None:
    """Leave the mounts, and with `network` the network, of everybody else. Raises OSError, and then nothing changed.

    Where that takes rights that the process lacks, it gets them in a user namespace, in which it stays the same user.
    """
    _enter(libc, _CLONE_NEWNS | (_CLONE_NEWNET if network else 0))


def enter_mount_namespace(libc: ctypes.CDLL) -> bool:
    """Leave the mounts of everybody else, to make some of its own; False where that is refused, and nothing changed."""
    try:
        _enter(libc, _CLONE_NEWNS, lambda: _follow_mounts(libc))
    except OSError:
        return False
    return True


def allows_own_mounts() -> bool:
    """True if a process like this one may have mounts of its own; another one tries."""
    libc = ctypes.CDLL(None, use_errno=True)
    found = hasattr(libc, "unshare")  # which only Linux has
    return found and _works_in_another(lambda: _enter(libc, _CLONE_NEWNS, lambda: _follow_mounts(libc)))


def _enter(libc: ctypes.CDLL, wanted: int, settle: Callable[[], None] | None = None) -> None:
    try:
        _check(libc.unshare(wanted))
        if settle is not None:
            settle()
    except PermissionError:
        # Whoever takes a user namespace and is refused the rest stays in it as nobody: another process tries first.
        # That takes several times as long as the namespaces themselves.
        doubtful = settle is not None or _may_refuse_users()
        if doubtful and not _works_in_another(lambda: _enter_as_same_user(libc, wanted, settle)):
            raise
        _enter_as_same_user(libc, wanted, settle)


def _may_refuse_users() -> bool:
    """True where a user namespace may be given and then not its users: AppArmor can, and whatever guards /proc."""
    try:
        os.close(os.open("/proc/self/uid_map", os.O_WRONLY | os.O_CLOEXEC))
    except OSError:
        return True
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "rb") as file:
            return file.read(1) != b"0"
    except OSError:
        return False


def _enter_as_same_user(libc: ctypes.CDLL, wanted: int, settle: Callable[[], None] | None) -> None:
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(wanted | _CLONE_NEWUSER))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    if settle is not None:
        settle()


def _follow_mounts(libc: ctypes.CDLL) -> None:
    """Show nobody what is mounted here, and let go of what others unmount."""
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_SLAVE), None))


def _works_in_another(step: Callable[[], None]) -> bool:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            step()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def size_options(*, size: int, files: int) -> bytes:
    """Return the options of a file system of this size."""
    return f"size={size},nr_inodes={files + 1},mode=700".encode()  # one is the folder itself


def mount_memory(libc: ctypes.CDLL, folder: str, options: bytes) -> None:
    """Put an empty file system in memory, with these options, in place of a folder. Raises OSError."""
    _check(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", _MEMORY_FLAGS, options))


def unmount(libc: ctypes.CDLL, folder: str) -> None:
    """Take a file system away; it is gone when nobody uses it any more. Raises OSError."""
    _check(libc.umount2(os.fsencode(folder), _MNT_DETACH))


def make_private(libc: ctypes.CDLL) -> None:
    """Let nobody else see what is mounted in this namespace. Raises OSError."""
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))


def bind(libc: ctypes.CDLL, source: str, target: str) -> None:
    """Show a file or a folder in another place as well, to this namespace alone. Raises OSError."""
    _check(libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(_MS_BIND | _MS_REC), None))


def make_read_only(libc: ctypes.CDLL, *, writable: tuple[str, ...], closed: tuple[str, ...] = ()) -> None:
    """Make every mount read-only but these places, as far as they were not; in a private namespace. Raises OSError.

    What is closed in one of them is read-only nevertheless.

    Landlock says nothing about modes, owners, times and attributes of files: this holds those too. The namespace is
    private because what others mount later would be writable; so what they unmount stays until the program ends.
    """
    there = filter(os.path.exists, sorted(writable))
    kept = [path for path in there if not os.statvfs(path).f_flag & os.ST_RDONLY]
    inner = _writable_mounts(kept, closed)
    for path in (*kept, *(path for path in closed if os.path.exists(path))):
        bind(libc, path, path)
    _set_attributes(libc, b"/", _AT_RECURSIVE, _MountAttributes(set=_RDONLY))
    for path in kept:
        _set_attributes(libc, os.fsencode(path), 0, _MountAttributes(clear=_RDONLY))
    for mount in inner:
        _let_write(libc, mount)
    try:
        os.chdir(os.getcwd())  # one of these places may lie above it by now
    except OSError:
        pass  # it has no name any more, or never had one that we may use


def _let_write(libc: ctypes.CDLL, mount: bytes) -> None:
    try:
        _set_attributes(libc, mount, 0, _MountAttributes(clear=_RDONLY))
    except OSError:
        pass  # it was unmounted meanwhile, or another one was mounted above it


def _writable_mounts(places: list[str], closed: tuple[str, ...]) -> list[bytes]:
    """Return where other file systems are mounted in these places, and not in what is closed, to be written."""
    inside, outside = (tuple(os.fsencode(f"{os.path.realpath(path)}/") for path in paths) for paths in (places, closed))
    with open("/proc/self/mountinfo", "rb") as file:
        rows = [line.split(b" ", 6) for line in file]
    writable = (_unescape(row[4]) for row in rows if b"rw" in row[5].split(b","))
    return [
        mount
        for mount in writable
        if mount.startswith(inside) and not (mount + b"/").startswith(outside) and os.path.realpath(mount) == mount
    ]


def _unescape(path: bytes) -> bytes:
    """Return a path of that file, in which a space, for one, is written as a backslash and three octal digits."""
    first, *rest = path.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


def bring_loopback_up() -> None:
    """Let the programs of a network namespace talk to each other and to servers there. Raises OSError."""
    import socket  # noqa: PLC0415 - most programs have no network

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack_from("h", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request), 16)[0]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


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
