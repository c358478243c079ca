"""The microphone as a source, through PortAudio; its callback never waits for us."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from types import ModuleType
from typing import Any

import anyio

from ot.errors import VoiceError
from ot.logs import write_log
from ot_voice.audio import RATE, Resampler, samples_of
from ot_voice.library import load_library

_KEPT = 5.0  # seconds of audio that may wait when we are slow
_BLOCK = 0.04  # seconds


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
            loop.call_soon_threadsafe(self._take, bytes(data))

        stream, rate = self._open(sounddevice, heard)
        resampler = Resampler(rate)
        most = int(_KEPT / _BLOCK)
        with stream:
            while stream.active:
                with anyio.move_on_after(1):  # a device that was pulled out sends nothing more
                    await self._arrived.wait()
                self._arrived.clear()
                self._forget_beyond(most)
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
            stream = sounddevice.RawInputStream(
                samplerate=rate,
                blocksize=int(rate * _BLOCK),
                device=self._device,
                channels=1,
                dtype="int16",
                callback=heard,
            )
        except (sounddevice.PortAudioError, ValueError) as error:
            raise VoiceError("the microphone", f"cannot be opened: {error}") from error
        return stream, rate

    def _take(self, data: bytes) -> None:
        self._waiting.append(data)
        self._arrived.set()

    def _forget_beyond(self, most: int) -> None:
        lost = 0
        while len(self._waiting) > most:
            self._waiting.popleft()
            lost += 1
        if lost:
            write_log(logging.WARNING, "voice.overrun", lost_ms=round(lost * _BLOCK * 1000))
