"""Linux: handles on processes, files in memory, places, and what /proc tells."""

from __future__ import annotations

import os
import select
import sys

assert sys.platform == "linux"  # `ot_system` chooses; other systems' types are not held against this file

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import signal
    import subprocess
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self
else:
    import _signal as signal  # its enumerations take as long to build as an interpreter to start

# -- processes

GLANCE: float | None = None  # seconds between two looks at one's parent; nothing has to be looked at here
CAN_FORK_LOADED = True  # a process with libraries loaded may fork, as long as it has one thread
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ANY_CHILD = 0x40000000  # __WALL: also one that was cloned in an unusual way


class ChildWatch:
    """`with ChildWatch() as watch: pid = os.fork() ... handle = watch.open(pid)`: a handle on a forked process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def open(self, pid: int) -> int:
        """Return the handle: a descriptor that becomes readable when the process ends. Raises OSError."""
        return os.pidfd_open(pid)


def own_handle() -> int:
    """Return a handle on this process, for others. Raises OSError."""
    return os.pidfd_open(os.getpid())


def close_from(first: int, limit: int, handed: Sequence[int] = (), *, answer: int | None = None) -> None:
    """Close all descriptors from a number on, but what keeps the handles on this process alive.

    `handed` are on their way to another process, which will say something on the descriptor `answer`.
    """
    os.closerange(first, limit)


def watch_process(process: subprocess.Popen[bytes]) -> int:
    """Return a handle on a process that was started here. Raises OSError."""
    return os.pidfd_open(process.pid)


def wait_for_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process as it comes; `Popen.wait` with a limit would look for it in growing pauses."""
    if process.poll() is not None:
        return True
    handle = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(poll.poll(seconds * 1e3))
    finally:
        os.close(handle)


def signal_process(pid: int, handle: int, number: int) -> None:
    """Signal the process itself, never another one that may have got its number. Raises ProcessLookupError."""
    signal.pidfd_send_signal(handle, number)


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends, or now if it is another one already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    import ctypes  # noqa: PLC0415 - most processes have no need of it

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def children_of(pid: int) -> list[int]:
    """List the children of all threads of a process; none if it has ended."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def has_children() -> bool:
    """True if this process has a child, also one that has ended and was not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _ANY_CHILD)
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
    """Kill all children of this process, which adopts theirs; `group` and `known` are for systems that list none."""
    for pid in children_of(os.getpid()):
        kill(pid)


# -- what a process uses


def count_threads() -> int:
    """Return how many threads this process has, as far as the system tells."""
    return len(os.listdir("/proc/self/task"))


_KIB = 1024
_HELD = frozenset({b"VmRSS", b"VmSwap", b"VmPTE"})  # pages, also those that describe pages
_PRIVATE = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"HugetlbPages:")  # what is not a file's
_DELETED = b" (deleted)\n"
_REGULAR, _KIND = 0o100000, 0o170000  # of the mode of a file; `stat` is not loaded everywhere


def usage_of(pid: int) -> tuple[int, int] | None:
    """Return bytes of memory and threads: no bytes if it is about to end, None where the system does not tell.

    Raises OSError where the process is hidden.
    """
    with open(f"/proc/{pid}/status", "rb") as file:
        facts = dict(line.split(b":", 1) for line in file)
    threads = int(facts[b"Threads"])
    if b"VmRSS" not in facts and threads > 1:
        raise ProcessLookupError(f"{pid} hides behind its first thread, which has ended")
    memory = sum(int(facts[name].split()[0]) for name in _HELD & facts.keys())
    return memory * _KIB, threads


def private_memory_of(pid: int) -> int:
    """Return the bytes that a process holds and that are not a file's; 0 if it has ended, or nobody tells."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * _KIB for line in lines if line.startswith(_PRIVATE))


def is_visible(pid: int) -> bool:
    """True if the files that a process has open can be seen; code cannot change that later."""
    try:
        os.stat(f"/proc/{pid}/fd/{os.listdir(f'/proc/{pid}/fd')[0]}")
        open(f"/proc/{pid}/maps", "rb").close()
    except (OSError, IndexError):
        return False
    return True


def measure_nameless(pid: int, folder: str, largest: int) -> tuple[int, bool]:
    """Count the bytes of files that no folder shows any more, and that the process still has open or mapped.

    Also returns whether all were seen. A file of `folder` that is only mapped cannot be looked at: it counts as the
    `largest` there can be. Raises OSError where the process cannot be looked into.
    """
    sizes: dict[int, int] = {}
    complete = True
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            facts = os.stat(f"/proc/{pid}/fd/{entry}")
        except FileNotFoundError:
            complete = False
            continue
        if facts.st_mode & _KIND == _REGULAR and not facts.st_nlink:
            sizes[facts.st_ino] = facts.st_blocks * 512
    inside = os.fsencode(folder) + b"/"
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            if line.endswith(_DELETED) and inside in line:
                sizes.setdefault(int(line.split(None, 5)[4]), largest)
    return sum(sizes.values()), complete


def resident_memory() -> int:
    """Return the bytes of memory that this process takes; raises OSError where the system does not tell."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def count_descriptors() -> int:
    """Return how many descriptors this process has open; raises OSError where the system does not tell."""
    return len(os.listdir("/proc/self/fd"))


# -- files and folders

MEMORY_FOLDER = "/dev/shm"
"""A folder whose files are kept in memory; empty where there is none."""

PLACE = os.O_PATH
"""The flag of `os.open` for a descriptor that only marks a place: nothing is read or written by it."""


def memory_file(name: str) -> int:
    """Open a new file that has no name in any folder, and is kept in memory. Raises OSError."""
    return os.memfd_create(name)


def open_step(name: str, folder: int) -> tuple[int, os.stat_result]:
    """Mark whatever has a name in an open folder, a link itself included; and say what it is. Raises OSError."""
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    return descriptor, os.fstat(descriptor)


def read_link(step: int, name: str, folder: int) -> str:
    """Return the text of the link that `open_step` marked by this name in this folder. Raises OSError."""
    return os.readlink("", dir_fd=step)


def leads_to(folder: int, path: str) -> str:
    """Return a path that leads to an open folder, which had this path when it was opened."""
    return f"/proc/self/fd/{folder}"


def change_target(descriptor: int) -> str | int:
    """Return what `os.chmod` and `os.utime` take for a file that was opened with `PLACE`."""
    return f"/proc/self/fd/{descriptor}"


def attribute_of(path: str | os.PathLike[str], name: str) -> bytes:
    """Return an extended attribute of a file; raises OSError where it has none of this name."""
    return os.getxattr(path, name)


def read_attributes(descriptor: int, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the extended attributes of an open file that are wanted, as far as permitted."""
    try:
        return {name: os.getxattr(descriptor, name) for name in filter(wanted, os.listxattr(descriptor))}
    except OSError:  # a file system may have none
        return {}


def write_attributes(descriptor: int, attributes: Mapping[str, bytes]) -> None:
    """Give an open file extended attributes, as far as permitted."""
    from contextlib import suppress  # noqa: PLC0415 - guardians and kernels have no need of it

    for name, value in attributes.items():
        with suppress(OSError):  # it is not for us
            os.setxattr(descriptor, name, value)


def copy_attributes(before: int, after: int, wanted: Callable[[str], bool]) -> None:
    """Copy the extended attributes of an open file that are wanted to another, as far as permitted."""
    from contextlib import suppress  # noqa: PLC0415 - guardians and kernels have no need of it

    with suppress(OSError):  # a file system may have none
        for name in filter(wanted, os.listxattr(before)):
            with suppress(OSError):  # it is not for us
                os.setxattr(after, name, os.getxattr(before, name))


def may_not_execute(path: str | os.PathLike[str]) -> bool:
    """True if no program or library can be loaded from the file system of a folder. Raises OSError."""
    return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)


def enlarge_pipe(descriptor: int, size: int) -> None:
    """Let a pipe hold as many bytes, where that may be."""
    import fcntl  # noqa: PLC0415 - guardians and kernels have no need of it

    try:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)
    except OSError:
        pass


_CHANGES = 0x00000002 | 0x00000004 | 0x000000C0 | 0x00000300 | 0x00000C00  # content, mode, names, and the folder's own
_ONLY_FOLDERS = 0x01000000 | 0x02000000  # and no links


class ChangeNotes:
    """The system's notes of changes in folders (inotify); `works` is false as soon as one cannot be watched."""

    def __init__(self) -> None:
        import ctypes  # noqa: PLC0415 - few processes watch a folder

        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.works: bool = self._descriptor >= 0

    def add(self, folder: int, name: str) -> None:
        """Watch one more folder, which has this name in an open one."""
        place = os.fsencode(f"/proc/self/fd/{folder}/{name}")
        self.works = (
            self.works and self._library.inotify_add_watch(self._descriptor, place, _CHANGES | _ONLY_FOLDERS) >= 0
        )

    def is_empty(self) -> bool:
        """True if there is no note: certainly nothing has changed."""
        try:
            os.read(self._descriptor, 4096)
        except BlockingIOError:
            return self.works
        except OSError:
            pass
        self.works = False
        return False

    def close(self) -> None:
        self.works = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


# -- threads

_PROCESSOR = 36  # the field of a thread's state, counted from the one after the name
_MOST_STATE = 1024  # bytes
_states: dict[int, int] = {}  # files by thread: to open one each time takes as long as a call of a tool


class Bell:
    """Wakes the thread that waits for it: a number in a descriptor, so that to ring it lets go of the interpreter."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = os.eventfd(0)

    def ring(self) -> None:
        os.eventfd_write(self._number, 1)

    def wait(self) -> None:
        """Return once it has been rung since the last time."""
        while True:
            try:
                os.eventfd_read(self._number)
            except InterruptedError:  # by a signal that has a handler; Python does not try this again by itself
                continue
            return

    def close(self) -> None:
        os.close(self._number)


def send_elsewhere(pid: int) -> None:
    """Let a process that has just been sent something go on where this thread does not run, and bind it to nothing.

    Linux lets it go on at the sender's processor, since most senders go to sleep then. But a server that sends the next
    answer soon would share that processor with the kernel it answers, beside one that is idle, and both would take
    twice as long. Once apart, they stay so while answers come soon.
    Without it, a call of a tool was measured to take 26 % more of the server's processor time.
    """
    import _thread  # noqa: PLC0415 - the server alone does this

    try:
        allowed = os.sched_getaffinity(pid)
        thread = _thread.get_native_id()
        if thread not in _states:
            _states[thread] = os.open(f"/proc/self/task/{thread}/stat", os.O_RDONLY | os.O_CLOEXEC)
        state = os.pread(_states[thread], _MOST_STATE, 0)
        elsewhere = allowed - {int(state.rpartition(b")")[2].split()[_PROCESSOR])}
        if elsewhere and elsewhere != allowed:
            os.sched_setaffinity(pid, elsewhere)
            os.sched_setaffinity(pid, allowed)
    except OSError:
        pass  # it has ended, or a guard around us forbids it: it only takes longer
