"""Sentences for what the sandbox refuses, at the place where the code asks for it, and a way around what it need not.

The barrier is seccomp; this only replaces a bare "Operation not permitted" by the way out.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

from ot_kernel.wire import Channel, Message

_PROCESSES = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}
)
_UNIX_FAMILY = getattr(socket, "AF_UNIX", None)  # WASI has none
_MOST_GATHERED = 256 * 1024

_Bytes = bytes | bytearray | memoryview


_sendmsg: Any = getattr(socket.socket, "sendmsg", None)  # WASI has none


def send_without_refusal() -> None:
    """Let `socket.sendmsg` send plain data; the zygote does so for all its kernels."""
    setattr(socket.socket, "sendmsg", _send_message)  # noqa: B010 - a method of a class that is not ours


def explain_refusals() -> None:
    """Raise PermissionError with a sentence from now on.

    Each kernel does so when it is complete: who has a hook pays for each of the many things that are heard by it.
    """
    sys.addaudithook(_refuse)


def _send_message(
    sender: socket.socket,
    buffers: Iterable[_Bytes],
    ancillary: Iterable[tuple[int, int, _Bytes]] = (),
    flags: int = 0,
    address: tuple[object, ...] | str | None = None,
) -> int:
    """Send what is only data by another call: asyncio's streams use sendmsg since 3.12.

    The call itself is refused, because descriptors can be passed by it and seccomp does not see which is meant. As any
    stream may, it sends only the first part of what is much.
    """
    ancillary = list(ancillary)
    if ancillary or address is not None:
        return int(_sendmsg(sender, buffers, ancillary, flags, address))
    gathered = bytearray()
    for buffer in buffers:
        gathered += memoryview(buffer).cast("B")[: _MOST_GATHERED - len(gathered)]
        if len(gathered) == _MOST_GATHERED:
            break
    return sender.send(gathered, flags)


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event in _PROCESSES:
        raise PermissionError("a run cannot start processes")
    if (event == "socket.__new__" and args[1] != _UNIX_FAMILY) or event == "socket.getaddrinfo":
        raise PermissionError("a run cannot open network connections")


_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


_IN_COMPONENT = sys.platform == "wasi"
_NUMBERS = {1: errno.EPERM, 2: errno.ENOENT, 13: errno.EACCES, 20: errno.ENOTDIR}  # of the server, and our own


class OwnFiles:
    """The files of one kernel: the zygote installs the functions, at no cost to its kernels, and each names its own."""

    def __init__(self) -> None:
        self._chmod, self._utime, self._truncate = os.chmod, os.utime, os.truncate
        self._channel: Channel | None = None
        self._scratch = ""

    def install(self) -> None:
        """Put our functions in the place of those that are refused; no file has extended attributes."""
        for function in (self.chmod, self.utime, self.truncate, self.listxattr):
            setattr(os, function.__name__, function)

    def own(self, channel: Channel, scratch: str) -> None:
        """Let code change modes and times in this folder, by asking the server."""
        self._channel = channel
        self._scratch = scratch

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        if isinstance(path, int) or dir_fd is not None:
            self._chmod(path, mode, dir_fd=dir_fd)
        elif mode & 0o777 or not _IN_COMPONENT:  # where files show no mode, and none could be copied
            self._change(path, {"op": "attributes", "mode": mode}, follow_symlinks)

    def utime(
        self,
        path: Any,
        times: tuple[float, float] | None = None,
        *,
        ns: tuple[int, int] | None = None,
        dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """Set when a file was last read and written: to these times, or to now."""
        if isinstance(path, int) or dir_fd is not None or (times is not None and ns is not None):
            self._utime(path, times)
            return
        if ns is None:
            ns = (time.time_ns(),) * 2 if times is None else (int(times[0] * 1e9), int(times[1] * 1e9))
        self._change(path, {"op": "attributes", "times": [int(ns[0]), int(ns[1])]}, follow_symlinks)

    def truncate(self, path: Any, length: int) -> None:
        """Cut a file by its name or, where that is refused because Landlock does not guard it, by opening it."""
        try:
            self._truncate(path, length)
        except PermissionError:
            if isinstance(path, int):
                raise
            file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                os.ftruncate(file, length)
            finally:
                os.close(file)

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        return []

    def _change(self, path: _Path, change: Message, follow_symlinks: bool) -> None:  # noqa: FBT001 - own use
        text = os.fsdecode(path)
        folder, name = os.path.split(os.path.abspath(text))
        real = os.path.realpath(text) if follow_symlinks else os.path.join(os.path.realpath(folder), name)
        number = errno.EPERM
        own = os.path.realpath(self._scratch) + "/"
        if self._channel is not None and real.startswith(own):
            parts = real[len(own) :].split("/")
            change["path"] = parts
            answer: Any = self._channel.ask(change)["value"]
            number = _NUMBERS.get(answer, errno.EIO) if answer and _IN_COMPONENT else answer
        if number:
            raise OSError(number, os.strerror(number), path)
