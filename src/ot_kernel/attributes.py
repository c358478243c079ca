"""`os.chmod` and `os.utime` for files in the scratch folder: the server does it, when code asks.

The system calls behind them are refused to kernels, because neither seccomp nor Landlock can tell which file they mean.
The server changes what lies in the scratch folder of this kernel, and nothing else.
"""

from __future__ import annotations

import errno
import os
import time
from typing import Any

from ot_kernel.wire import Channel, Message

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class OwnFiles:
    """The files of one kernel: the zygote installs the functions, at no cost to its kernels, and each names its own."""

    def __init__(self) -> None:
        self._chmod, self._utime = os.chmod, os.utime
        self._channel: Channel | None = None
        self._scratch = ""

    def install(self) -> None:
        """Put our functions in the place of those that are refused; no file has extended attributes."""
        for name, function in (("chmod", self.chmod), ("utime", self.utime), ("listxattr", self.listxattr)):
            setattr(os, name, function)

    def own(self, channel: Channel, scratch: str) -> None:
        """Let code change modes and times in this folder, by asking the server."""
        self._channel = channel
        self._scratch = scratch

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """Change the mode of a file."""
        if isinstance(path, int) or dir_fd is not None:
            self._chmod(path, mode, dir_fd=dir_fd)
        else:
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

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        """Return nothing."""
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
            number = answer
        if number:
            raise OSError(number, os.strerror(number), path)
