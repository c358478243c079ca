"""Sockets between processes of one machine: messages with descriptors, and the user at the other end."""

from __future__ import annotations

import _socket
import os
import select
import struct
import sys

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

_INT = struct.calcsize("i")


class _End(_socket.socket):
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PacketSocket(_End):
    """One end of a pair that keeps messages apart by itself (SEQPACKET); several processes may send at one end."""

    def send_message(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send a message, with descriptors; raises OSError."""
        if descriptors:
            self.sendmsg([data], _rights(descriptors))
        else:
            self.send(data)

    def receive_message(self, size: int, most: int = 0) -> tuple[bytes, list[int]]:
        """Receive a message, empty at the end, and its descriptors, which child processes do not inherit.

        `size` and `most` bound the bytes and descriptors of one. Raises OSError.
        """
        data, ancillary, _, _ = self.recvmsg(size, _socket.CMSG_SPACE(most * _INT) if most else 0, _CLOEXEC)
        return data, _read_rights(ancillary) if ancillary else []


_HEADER = struct.Struct("<IB")  # bytes of a message, and its descriptors


class FramedSocket(_End):
    """The same over a stream, for systems whose pairs keep no messages apart; each is received by two system calls.

    A message is sent at once, so that several processes may do so, if it is as small as those of a zygote are.
    """

    _begun = b""  # of a message that has not come as a whole yet
    _handed: tuple[int, ...] = ()  # descriptors that came with it

    def send_message(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        message = _HEADER.pack(len(data), len(descriptors)) + data
        sent = self.sendmsg([message], _rights(descriptors) if descriptors else [])
        while sent < len(message):
            poll = select.poll()
            poll.register(self.fileno(), select.POLLOUT)
            poll.poll()
            sent += self.send(message[sent:])

    def receive_message(self, size: int, most: int = 0) -> tuple[bytes, list[int]]:
        while True:
            wanted = _HEADER.size - len(self._begun)
            if wanted <= 0:
                wanted += _HEADER.unpack_from(self._begun)[0]
                if wanted == 0:
                    break
            data, ancillary, _, _ = self.recvmsg(wanted, _socket.CMSG_SPACE(most * _INT) if most else 0, _CLOEXEC)
            handed = _read_rights(ancillary)
            for descriptor in handed:
                os.set_inheritable(descriptor, False)
            self._handed += tuple(handed)
            if not data:
                return b"", []
            self._begun += data
        message, self._begun = self._begun[_HEADER.size :], b""
        descriptors, self._handed = list(self._handed), ()
        return message, descriptors


def _rights(descriptors: Sequence[int]) -> list[tuple[int, int, bytes]]:
    packed = struct.pack(f"{len(descriptors)}i", *descriptors)
    return [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)]


def _read_rights(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    received = b"".join(content[: len(content) // _INT * _INT] for _, _, content in ancillary)
    return [number for (number,) in struct.iter_unpack("i", received)]


_XUCRED = struct.Struct("@2I")  # the beginning of struct xucred: version, user
_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE = 0, 1, 76


def user_as_on_macos(connection: _socket.socket) -> int | None:
    """Return the user at the other end; None where the system tells nobody, and only the mode of the file counts."""
    try:
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE)
        return int(_XUCRED.unpack_from(credentials)[1])
    except (OSError, struct.error):
        return None


if sys.platform == "linux":
    _CLOEXEC = _socket.MSG_CMSG_CLOEXEC
    _KIND = _socket.SOCK_SEQPACKET
    _CREDENTIALS = struct.Struct("3i")  # process, user, group
    MessageSocket = PacketSocket

    def user_of_peer(connection: _socket.socket) -> int | None:
        """Return the user at the other end of a unix socket."""
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(credentials)[1])
else:
    _CLOEXEC = 0
    _KIND = _socket.SOCK_STREAM
    MessageSocket = FramedSocket
    user_of_peer = user_as_on_macos


def message_pair() -> tuple[MessageSocket, MessageSocket]:
    """Return both ends of a pair of sockets for messages with descriptors. Raises OSError."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _KIND)
    return MessageSocket(fileno=ours.detach()), MessageSocket(fileno=theirs.detach())
