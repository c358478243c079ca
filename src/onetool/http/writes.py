"""Writes of one turn of the event loop, sent in one piece: the head of an answer with its body."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

_LARGE = 64 * 1024  # bytes that are not copied to save a system call


class GatheringTransport(asyncio.Transport):
    """The transport of a connection, which gathers short writes.

    Uvicorn writes the head of an answer and its body one after the other. Each would be a packet, and wake whoever
    waits for it.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._gathered: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if len(data) >= _LARGE:
            self._send_gathered()
            self._transport.write(data)
            return
        if not self._gathered:
            self._loop.call_soon(self._send_gathered)
        self._gathered.append(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        for data in list_of_data:
            self.write(data)

    def _send_gathered(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._transport.write(b"".join(gathered))

    def close(self) -> None:
        self._send_gathered()
        self._transport.close()

    def abort(self) -> None:
        self._gathered.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        self._send_gathered()  # the question is what nobody takes
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
