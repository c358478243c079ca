"""Sources of audio: a WAV file, raw samples on a descriptor such as stdin, or the microphone, through PortAudio.

A source that is *live* does not wait for anybody: what is not heard in time is gone. A file waits.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import anyio
from anyio import to_thread

from ot.errors import VoiceError
from ot.logs import write_log
from ot_voice.audio import BLOCK, RATE, SAMPLE, Resampler, load_library, read_audio, samples_of, seconds_of

_PIECE = 8 * BLOCK
_AHEAD = 1.5  # seconds of audio that a pipe may be ahead of the clock before it cannot be a live one
_KEPT = 5.0  # seconds of audio that may wait when we are slow
_BLOCK = 0.04  # seconds


class AudioSource(Protocol):
    """Audio in the one form that this package uses, in pieces of any size."""

    @property
    def live(self) -> bool: ...

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Read until the source ends; raises VoiceError."""


class WavSource:
    """A WAV file of any rate, width and number of channels."""

    live = False

    def __init__(self, file: Path) -> None:
        self._file = file

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        reader = self._read()
        try:
            while (piece := await to_thread.run_sync(next, reader, None)) is not None:
                yield piece
        finally:
            reader.close()

    def _read(self) -> Generator[bytes, None, None]:
        try:
            with self._file.open("rb") as stream:
                yield from read_audio(stream, str(self._file), frames=2048)
        except OSError as error:
            raise VoiceError(str(self._file), f"cannot be read: {error.strerror}") from error


class PcmSource:
    """Raw 16-bit samples, 16,000 a second, one channel, from a descriptor that stays open.

    A recorder's pipe is live. A file is not, and neither is a pipe that runs ahead of the clock: nobody speaks
    faster than time.
    """

    def __init__(self, descriptor: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._waits = stat.S_ISREG(os.fstat(descriptor).st_mode)

    @property
    def live(self) -> bool:
        return not self._waits

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        began, received, rest = self._clock(), 0, b""
        while data := await self._read():
            received += len(data)
            if not self._waits and seconds_of(received) > self._clock() - began + _AHEAD:
                self._waits = True
            data = rest + data
            whole = len(data) - len(data) % SAMPLE
            rest = data[whole:]
            yield data[:whole]

    async def _read(self) -> bytes:
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                await anyio.wait_readable(self._descriptor)  # so that a cancellation does not wait for a thread
            else:
                await anyio.lowlevel.checkpoint()
            return os.read(self._descriptor, _PIECE)
        except OSError as error:
            raise VoiceError("standard input", f"cannot be read: {error.strerror}") from error


async def read_blocks(source: AudioSource) -> AsyncGenerator[bytes, None]:
    """Cut a source into blocks of BLOCK bytes; the last is filled with silence."""
    rest = b""
    async with aclosing(source.pieces()) as pieces:
        async for piece in pieces:
            rest += piece
            whole = len(rest) - len(rest) % BLOCK
            for start in range(0, whole, BLOCK):
                yield rest[start : start + BLOCK]
            rest = rest[whole:]
    if rest:
        yield rest.ljust(BLOCK, b"\0")


class MicrophoneSource:
    """A microphone by name or number, or the system's default, at whatever rate it has."""

    live = True

    def __init__(self, device: str | None = None) -> None:
        self._device: str | int | None = int(device) if device is not None and device.isdecimal() else device
        self._waiting: deque[bytes] = deque()
        self._arrived = asyncio.Event()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        sounddevice = load_library("sounddevice")

        def heard(data: memoryview, _frames: int, _time: object, _status: object) -> None:
            # On PortAudio's own thread: copy, hand over, go.
            loop.call_soon_threadsafe(self._waiting.append, bytes(data))
            loop.call_soon_threadsafe(self._arrived.set)

        stream, rate = self._open(sounddevice, heard)
        resampler = Resampler(rate)
        most = int(_KEPT / _BLOCK)
        with stream:
            while stream.active:
                with anyio.move_on_after(1):  # a device that was pulled out sends nothing more
                    await self._arrived.wait()
                self._arrived.clear()
                lost = max(0, len(self._waiting) - most)
                for _ in range(lost):
                    self._waiting.popleft()
                if lost:
                    write_log(logging.WARNING, "voice.overrun", lost_ms=round(lost * _BLOCK * 1000))
                while self._waiting:
                    yield resampler.feed(samples_of(self._waiting.popleft()))
        raise VoiceError("the microphone", "the device stopped")

    def _open(self, sounddevice: ModuleType, heard: Callable[..., None]) -> tuple[Any, int]:
        """Open it at our rate, or at its own where it has no other."""
        try:
            try:
                sounddevice.check_input_settings(device=self._device, samplerate=RATE, channels=1, dtype="int16")
                rate = RATE
            except sounddevice.PortAudioError:
                rate = int(sounddevice.query_devices(self._device, "input")["default_samplerate"])
            form = {"samplerate": rate, "channels": 1, "dtype": "int16", "device": self._device}
            stream = sounddevice.RawInputStream(**form, blocksize=int(rate * _BLOCK), callback=heard)
        except (sounddevice.PortAudioError, ValueError) as error:
            raise VoiceError("the microphone", f"cannot be opened: {error}") from error
        return stream, rate
