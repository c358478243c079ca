"""A probe: a confined process tries what it must not be able to do. What a system says about itself proves nothing."""

from __future__ import annotations

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
        except (OSError, AttributeError, ImportError):  # refused, or nothing that this system has
            continue
        worked.append(what)
    return worked


def _attempts(outside: str | None, other: int) -> Iterator[tuple[str, Callable[[], object]]]:
    if outside is not None:
        for flags in (os.O_RDONLY, os.O_WRONLY):
            yield "open a file", partial(_open, outside, flags)
        for flags in (os.O_RDONLY, os.O_WRONLY, _NO_MODE):
            yield "truncate a file", partial(_open, outside, flags | os.O_TRUNC)
        yield "truncate a file", lambda: os.truncate(outside, 0)
        yield "remove a file", partial(os.unlink, outside)
    for family in ("AF_INET", "AF_INET6", "AF_UNIX"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            yield "connect", partial(_socket, family, kind)
    yield "map shared memory", _map
    yield "fork", _fork
    yield "signal a process", lambda: os.kill(other, 0)


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags))


def _socket(family: str, kind: int) -> None:
    socket.socket(getattr(socket, family), kind).close()


def _map() -> None:
    import mmap  # noqa: PLC0415 - WASI has none

    mmap.mmap(-1, mmap.PAGESIZE).close()


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
