"""Pages that every kernel writes to, copied by the fork itself instead of at the first write to each.

After a fork both sides share all pages, and whoever writes to one first gets a copy: a fault for each, of which the
kernel has hundreds, and the zygote again as many as it uses itself. A page that is pinned for a device is an
exception: Linux copies it at once, in a third of the time, and its owner keeps it. A ring of io_uring pins what is
registered as its buffers. It can do nothing else: it is never enabled, and nobody may submit anything to it.
The benchmark measures how many runs a second that gains (`pin_pages` in the settings of a zygote switches it off).
"""

from __future__ import annotations

import array
import ctypes
import io
import os
import signal
import socket
from collections.abc import Callable, Iterator

from ot_kernel.child import HANDED, REHEARSAL
from ot_kernel.wire import Channel, WireError, frame, pack
from ot_system.sockets import MessageSocket

_IO_URING_SETUP, _IO_URING_REGISTER = 425, 427
_FLAGS, _DISABLED, _PARAMETERS = 2, 1 << 6, 30  # words of struct io_uring_params
_REGISTER_BUFFERS = 0
_MOST_RANGES = 1024
# Bits of a page in /proc/<pid>/pagemap: it is there, is one of a file, and nobody else has it.
_PRESENT, _OF_FILE, _ALONE = 1 << 63, 1 << 61, 1 << 56
_WRITTEN = _PRESENT | _ALONE
_DONTNEED, _POPULATE_READ = 4, 22
_TEXT = b"r-xp"
_SHARED = (_TEXT, b"r--p")
_LIFE = 5.0  # seconds in which a kernel introduces itself; later, nothing is pinned
_PAGE = os.sysconf("SC_PAGESIZE")


class PinnedPages:
    """The pages of this process, which forks others like it. Raises OSError where the system pins nothing."""

    def __init__(self) -> None:
        os.stat("/proc/self/pagemap")  # whoever has none knows other calls by these numbers
        self._libc = ctypes.CDLL(None, use_errno=True)
        parameters = (ctypes.c_uint32 * _PARAMETERS)()
        parameters[_FLAGS] = _DISABLED
        self._ring = self._call(_IO_URING_SETUP, 1, ctypes.byref(parameters))
        # Opened now: a process that is not to be looked into may not look into itself either.
        self._maps, self._pages = io.FileIO("/proc/self/maps"), io.FileIO("/proc/self/pagemap")

    def pin_written(self, fork: Callable[[MessageSocket], int]) -> bool:
        """Pin what kernels write to, as one shows that lives a whole life for us alone; False if that is impossible.

        `fork` makes it, given the socket on which it introduces itself.
        """
        self._forget_texts()
        ours, theirs = (MessageSocket(fileno=end.detach()) for end in socket.socketpair())
        ours.settimeout(_LIFE)
        with ours:
            with theirs:
                pid = fork(theirs)
            try:
                _live_through(ours)
                self._pin(pid)
            except (OSError, WireError):
                self.close()
                return False
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        return True

    def _forget_texts(self) -> None:
        """Forget where the code of programs and libraries is, which is found again when it is used.

        Much of it was found only because it lies beside something else, and forks would copy where it is. Code that was
        changed since it was loaded is left alone.
        """
        for start, end in self._mapped(_TEXT, of_files=True):
            pages = _look(self._pages.fileno(), start, end)
            if sum(page & (_PRESENT | _OF_FILE) == _PRESENT for page in pages) <= 1:  # the one of `copy_tables`
                self._advise(start, end - start, _DONTNEED)

    def _pin(self, pid: int) -> None:
        """Pin the pages that a typical child has written to since the fork. Raises OSError.

        Code that the child has used is found here as well, for all others.
        """
        with open(f"/proc/{pid}/pagemap", "rb") as its:
            ranges = _join(_pages_with(_WRITTEN, self._mapped(b"rw-p"), its.fileno()))
            used = _join(_pages_with(_PRESENT, self._mapped(_TEXT, of_files=True), its.fileno()))
        for start, size in zip(used[::2], used[1::2], strict=True):
            self._advise(start, size, _POPULATE_READ)
        vectors = array.array("Q", ranges[: 2 * _MOST_RANGES])
        start, words = vectors.buffer_info()
        self._call(_IO_URING_REGISTER, self._ring, _REGISTER_BUFFERS, ctypes.c_void_p(start), words // 2)
        self._maps.close()
        self._pages.close()

    def _mapped(self, wanted: bytes, *, of_files: bool = False) -> list[tuple[int, int]]:
        """Return where the mappings with these rights begin and end."""
        self._maps.seek(0)
        rows = [line.split() for line in self._maps.readall().splitlines()]
        places = [row[0].split(b"-") for row in rows if row[1] == wanted and not (of_files and row[4] == b"0")]
        return [(int(start, 16), int(end, 16)) for start, end in places]

    def _advise(self, start: int, size: int, advice: int) -> None:
        self._libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), advice)  # it is only faster

    def close(self) -> None:
        """Let go of all of them."""
        os.close(self._ring)
        self._maps.close()
        self._pages.close()

    def _call(self, number: int, *arguments: object) -> int:
        result = int(self._libc.syscall(number, *arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result


def _live_through(control: MessageSocket) -> None:
    """Let the kernel that introduces itself here run a program that makes a call. Raises OSError and WireError."""
    _, fds = control.receive_message(4096, HANDED)
    if not fds:
        raise WireError("the kernel went away")
    for fd in fds[1:]:
        os.close(fd)
    with socket.socket(fileno=fds[0]) as server:
        for message in (
            {**REHEARSAL, "code": "ot.version(text='question')"},
            {"op": "go"},
            {"id": 1, "value": "answer"},
        ):
            server.sendall(frame(pack(message)))
        channel = Channel(server.fileno(), "")
        while channel.receive()["op"] != "value":
            pass


def copy_tables() -> None:
    """Let forks copy where the pages of programs and libraries are, which each kernel would otherwise find by faults.

    Linux does so for a mapping of which a page was once written to; here with the byte that it has.
    """
    try:
        with open("/proc/self/maps", "rb") as maps, open("/proc/self/mem", "r+b", buffering=0) as memory:
            for line in maps.readlines():
                place, rights, _, _, inode = line.split()[:5]
                if rights in _SHARED and inode != b"0":
                    memory.seek(int(place.partition(b"-")[0], 16))
                    byte = memory.read(1)
                    memory.seek(-1, os.SEEK_CUR)
                    memory.write(byte)
    except OSError:
        pass  # it is only faster


def open_pages() -> PinnedPages | None:
    """The pages of this process; None where the system pins nothing, or shows nobody what was written to."""
    try:
        return PinnedPages()
    except OSError:
        return None


def _pages_with(bits: int, places: list[tuple[int, int]], pagemap: int) -> Iterator[int]:
    """Give the addresses of pages that have all of these bits."""
    for start, end in places:
        pages = enumerate(_look(pagemap, start, end))
        yield from (start + number * _PAGE for number, page in pages if page & bits == bits)


def _look(pagemap: int, start: int, end: int) -> memoryview:
    """Return what a process says of its pages between two addresses, a number each."""
    return memoryview(os.pread(pagemap, (end - start) // _PAGE * 8, start // _PAGE * 8)).cast("Q")


def _join(pages: Iterator[int]) -> list[int]:
    """Return start and size of each range of pages in turns, as struct iovec has them."""
    ranges: list[int] = []
    for address in pages:
        if ranges and ranges[-2] + ranges[-1] == address:
            ranges[-1] += _PAGE
        else:
            ranges += (address, _PAGE)
    return ranges
