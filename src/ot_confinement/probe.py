"""A probe: a confined process tries what it must not be able to do. What a system says about itself proves nothing."""

from __future__ import annotations

import mmap
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial

_NO_MODE = 3  # neither for reading nor for writing, which asks for no right at all


def find_broken_promises(outside: str | None, other: int) -> list[str]:
    """Name everything that worked. `outside` is a file, of no value, that it may not touch; `other` a process."""
    worked = []
    for what, attempt in _attempts(outside, other):
        try:
            attempt()
        except OSError:
            continue
        worked.append(what)
    return worked


def _attempts(outside: str | None, other: int) -> Iterator[tuple[str, Callable[[], object]]]:
    if outside is not None:
        for flags in (os.O_RDONLY, os.O_WRONLY):
            yield "open a file", partial(_open, outside, flags)
        for flags in (os.O_RDONLY, os.O_WRONLY, _NO_MODE):
            yield "truncate a file", partial(_open, outside, flags | os.O_TRUNC)
        yield "truncate a file", partial(os.truncate, outside, 0)
        yield "remove a file", partial(os.unlink, outside)
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            yield "connect", partial(_socket, family, kind)
    yield "map shared memory", partial(mmap.mmap, -1, mmap.PAGESIZE)
    yield "fork", _fork
    yield "signal a process", partial(os.kill, other, 0)


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags))


def _socket(family: int, kind: int) -> None:
    socket.socket(family, kind).close()


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
