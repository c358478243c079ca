"""`os.chmod` and `os.utime` for files in the scratch folder: the server does it, when code asks.

The system calls behind them are refused to kernels, because neither seccomp nor Landlock can tell which file they mean.
The server changes what lies in the scratch folder of this kernel, and nothing else.
"""

from __future__ import annotations

import errno
import os
import time
from typing import Any

from ot_kernel.wire import Channel

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def lend_attributes(channel: Channel, scratch: str) -> None:
    """Let code change modes and times of its own files; they have no extended attributes."""
    files = _OwnFiles(channel, os.path.realpath(scratch))
    for name, function in (("chmod", files.chmod), ("utime", files.utime), ("listxattr", files.listxattr)):
        setattr(os, name, function)


class _OwnFiles:
    """The files of one kernel."""

    def __init__(self, channel: Channel, scratch: str) -> None:
        self._channel = channel
        self._scratch = scratch
        self._chmod, self._utime = os.chmod, os.utime

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        """Change the mode of a file."""
        if isinstance(path, int) or dir_fd is not None:
            self._chmod(path, mode, dir_fd=dir_fd)
        else:
            self._change(path, {"mode": mode}, follow_symlinks)

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
        self._change(path, {"times": [int(ns[0]), int(ns[1])]}, follow_symlinks)

    def listxattr(self, path: Any = None, *, follow_symlinks: bool = True) -> list[str]:
        """Return nothing."""
        return []

    def _change(self, path: _Path, change: dict[str, object], follow_symlinks: bool) -> None:  # noqa: FBT001 - own use
        text = os.fsdecode(path)
        folder, name = os.path.split(os.path.abspath(text))
        real = os.path.realpath(text) if follow_symlinks else os.path.join(os.path.realpath(folder), name)
        number = errno.EPERM
        if real.startswith(f"{self._scratch}/"):
            parts = real[len(self._scratch) + 1 :].split("/")
            number = self._channel.ask({"op": "attributes", "path": parts, **change})["value"]
        if number:
            raise OSError(number, os.strerror(number), path)
