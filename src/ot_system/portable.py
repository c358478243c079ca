"""Any POSIX system: weaker than Linux in places, as each function says; with what macOS tells where it does."""

from __future__ import annotations

import errno
import os
import select
import struct
import time

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import signal
    import subprocess
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self
else:
    import _signal as signal  # its enumerations take as long to build as an interpreter to start

# -- processes

GLANCE: float | None = 0.5  # seconds between two looks at one's parent, of whose end nobody tells
CAN_FORK_LOADED = False  # libraries of macOS end a process that was forked without becoming another program
_PROC_PPID_ONLY, _MOST_CHILDREN = 6, 4096  # of macOS; and enough
_ended_here: list[int] = []  # write ends of pipes that end with this process, which is how others hear of it


class ChildWatch:
    """A handle is the read end of a pipe, whose write end nobody has but the forked process."""

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        _ended_here.append(self._write)
        return self

    def __exit__(self, *_: object) -> None:
        _ended_here.remove(self._write)
        for descriptor in (self._write, self._read):
            os.close(descriptor)

    def open(self, pid: int) -> int:
        return os.dup(self._read)


def own_handle() -> int:
    """Return a handle that says that this process has ended, too, if it closes what it does not know."""
    os.register_at_fork(after_in_child=_let_go)
    read, write = os.pipe()
    _ended_here.append(write)
    return read


def _let_go() -> None:
    """Keep no handle on one's parent alive."""
    for descriptor in _ended_here:
        os.close(descriptor)
    _ended_here.clear()


def close_from(first: int, limit: int, handed: Sequence[int] = (), *, answer: int | None = None) -> None:
    """Keep what was handed on until there is an answer: macOS loses descriptors that are closed on their way."""
    if handed and answer is not None:
        poll = select.poll()
        poll.register(answer, select.POLLIN)
        poll.poll()
        handed = ()
    for kept in sorted((*_ended_here, *handed)):
        os.closerange(first, kept)
        first = max(first, kept + 1)
    os.closerange(first, limit)


def watch_process(process: subprocess.Popen[bytes]) -> int:
    """Return the read end of a pipe, which a thread closes that waits for the process."""
    import _thread  # noqa: PLC0415 - the server alone does this

    read, write = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(write)

    try:
        _start_quietly(_thread.start_new_thread, wait)
    except BaseException:
        os.close(read)
        os.close(write)
        raise
    return read


def _start_quietly(start: Callable[[Callable[[], None], tuple[()]], int], function: Callable[[], None]) -> None:
    """Start a thread to which the system gives no signal: each must wake the thread that waits for it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        start(function, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Look for the end of a process in growing pauses."""
    import subprocess  # noqa: PLC0415 - whoever has such a process has loaded it

    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def signal_process(pid: int, handle: int, number: int) -> None:
    """Signal a process by its number, if it has not ended; it may end, and another get its number, in this moment."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    if poll.poll(0):
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    os.kill(pid, number)


def adopt_orphans() -> None:
    """Do nothing: an orphan becomes a child of the first process."""


def end_with_parent(parent: int) -> None:
    """Have a thread look for the parent; it outlives it by a moment, and for as long as code holds the interpreter."""
    import _thread  # noqa: PLC0415 - most processes have no need of it

    if os.getppid() != parent:
        os._exit(1)

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(GLANCE or 0)
        os.kill(os.getpid(), signal.SIGKILL)

    _start_quietly(_thread.start_new_thread, look)


def children_of(pid: int) -> list[int]:
    """List the children of a process where the system tells (macOS), else none."""
    import ctypes  # noqa: PLC0415 - most processes have no need of it

    found = (ctypes.c_int * _MOST_CHILDREN)()
    size = _call("proc_listpids", _PROC_PPID_ONLY, pid, found, ctypes.sizeof(found))
    return [child for child in found[: max(0, size) // ctypes.sizeof(ctypes.c_int)] if child > 0]


def has_children() -> bool:
    """True if this process has a child; one that has ended is waited for. Orphans below it are not known."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def kill(pid: int) -> bool:
    """Kill a child, which cannot lose its number before it is reaped; False if it has become another user's."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    return True


def kill_below(group: int, known: Iterable[int]) -> None:
    """Kill known children, what can be listed below this process, and a group, which no other process is named after.

    What has left the group, and whose parent has ended, escapes.
    """
    found = [*known]
    for pid in children_of(os.getpid()):
        if pid not in found:
            found.append(pid)
    for pid in found:
        found += [child for child in children_of(pid) if child not in found]
    kill(-group)
    for pid in found:
        kill(pid)


# -- what a process uses

_PROC_PIDTASKINFO = 4
_TASK = struct.Struct("@6Q12i")  # struct proc_taskinfo of macOS
_RESIDENT, _THREADS = 1, 15


def _call(name: str, *arguments: object) -> int:
    """Call a function of the C library; -1 where it has none of this name."""
    import ctypes  # noqa: PLC0415 - most processes have no need of it

    function = getattr(ctypes.CDLL(None), name, None)
    return -1 if function is None else int(function(*arguments))


def usage_of(pid: int) -> tuple[int, int] | None:
    """Return what macOS tells, and None elsewhere. Raises OSError if the process has ended."""
    import ctypes  # noqa: PLC0415 - most processes have no need of it

    room = ctypes.create_string_buffer(_TASK.size)
    written = _call("proc_pidinfo", pid, _PROC_PIDTASKINFO, ctypes.c_uint64(0), room, _TASK.size)
    if written == _TASK.size:
        facts = _TASK.unpack(room.raw)
        return facts[_RESIDENT], facts[_THREADS]
    os.kill(pid, 0)
    return None


def count_threads() -> int:
    """Return 1 where the system does not tell."""
    return (usage_of(os.getpid()) or (0, 1))[1]


def private_memory_of(pid: int) -> int:
    """Return all that it holds, files included, since nobody tells them apart."""
    try:
        return (usage_of(pid) or (0, 0))[0]
    except OSError:
        return 0


def is_visible(pid: int) -> bool:
    """Return True, though no system shows everything: see `measure_nameless`."""
    return True


def measure_nameless(pid: int, folder: str, largest: int) -> tuple[int, bool]:
    """Count nothing: files without a name are held by the limit of each, and by how many a process may have open."""
    return 0, True


def resident_memory() -> int:
    found = usage_of(os.getpid())
    if found is None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    return found[0]


def count_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


# -- files and folders

MEMORY_FOLDER = ""
PLACE = os.O_RDONLY | os.O_NONBLOCK
_F_GETPATH, _LONGEST_PATH = 50, 1024  # of macOS


def memory_file(name: str) -> int:
    """Open a new file in the temporary folder, and take its name away."""
    path = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"{name}-{os.urandom(8).hex()}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return descriptor


def open_step(name: str, folder: int) -> tuple[int, os.stat_result]:
    """Open a folder, which must be readable; of anything else hold only its folder: the name may change hands."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    if status.st_mode & 0o170000 != 0o040000:
        return os.open(".", flags, dir_fd=folder), status  # opened again: a copy would keep a lock on the folder
    descriptor = os.open(name, flags, dir_fd=folder)
    return descriptor, os.fstat(descriptor)


def read_link(step: int, name: str, folder: int) -> str:
    return os.readlink(name, dir_fd=folder)


def leads_to(folder: int, path: str) -> str:
    """Return where the folder is by now, as macOS tells; elsewhere where it was, whatever is there by now."""
    import fcntl  # noqa: PLC0415 - guardians and kernels have no need of it

    try:
        return os.fsdecode(fcntl.fcntl(folder, _F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0"))
    except OSError:
        return path


def change_target(descriptor: int) -> str | int:
    return descriptor


def attribute_of(path: str | os.PathLike[str], name: str) -> bytes:
    """Raise OSError: Python reads extended attributes on Linux only."""
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), os.fspath(path))


def read_attributes(descriptor: int, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return nothing: Python reads extended attributes on Linux only."""
    return {}


def write_attributes(descriptor: int, attributes: Mapping[str, bytes]) -> None:
    """Do nothing, as above."""


def copy_attributes(before: int, after: int, wanted: Callable[[str], bool]) -> None:
    """Do nothing: they are lost, since Python reads them on Linux only."""


def may_not_execute(path: str | os.PathLike[str]) -> bool:
    """Return False: there is no common name for it."""
    return False


def enlarge_pipe(descriptor: int, size: int) -> None:
    """Do nothing: the system sizes pipes itself."""


class ChangeNotes:
    """No notes: everything may have changed at any time."""

    works = False

    def add(self, folder: int, name: str) -> None: ...

    def is_empty(self) -> bool:
        return False

    def close(self) -> None: ...


# -- threads


class Bell:
    """A pipe."""

    __slots__ = ("_read", "_write")

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def ring(self) -> None:
        os.write(self._write, b"!")

    def wait(self) -> None:
        os.read(self._read, 4096)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


def send_elsewhere(pid: int) -> None:
    """Do nothing: where a process runs is decided by the system alone."""
