"""Sentences for what the sandbox refuses, at the place where the code asks for it, and a way around what it need not.

The barrier is seccomp; this only replaces a bare "Operation not permitted" by the way out.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable

_PROCESSES = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}
)
_UNIX_FAMILY = 1
_MOST_GATHERED = 256 * 1024

_Bytes = bytes | bytearray | memoryview


_sendmsg = socket.socket.sendmsg


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
        return _sendmsg(sender, buffers, ancillary, flags, address)
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
