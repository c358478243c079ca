"""Speaking: espeak-ng makes the sound, and a device of this machine plays it, or files keep it; both can be stopped."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from mcp_core.atomic_write import write_file
from ot.errors import VoiceError
from ot.processes.run_program import run_program
from ot_voice.audio import RATE, load_library, read_audio, write_wav

_HEAD = 44  # bytes before the samples in the WAVs that we write


class Player(Protocol):
    async def play(self, wav: bytes) -> None:
        """Play it, and return at its end; cancelled, it is silent at once. Raises VoiceError."""


class AplayPlayer:
    """ALSA's own player, in a process for each sentence."""

    async def play(self, wav: bytes) -> None:
        await transform(["aplay", "-q", "-"], wav)


class DevicePlayer:
    """The system's default output, through PortAudio."""

    async def play(self, wav: bytes) -> None:
        sounddevice = load_library("sounddevice")
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        left = memoryview(wav)[_HEAD:]

        def fill(out: memoryview, _frames: int, _time: object, _status: object) -> None:
            nonlocal left
            piece, left = left[: len(out)], left[len(out) :]
            out[: len(piece)] = piece
            out[len(piece) :] = bytes(len(out) - len(piece))
            if not left:
                raise sounddevice.CallbackStop

        def finished() -> None:
            loop.call_soon_threadsafe(ended.set)

        try:
            form = {"samplerate": RATE, "channels": 1, "dtype": "int16"}
            with sounddevice.RawOutputStream(**form, callback=fill, finished_callback=finished) as stream:
                try:
                    await ended.wait()
                finally:
                    stream.abort()
        except sounddevice.PortAudioError as error:
            raise VoiceError("the loudspeaker", f"cannot be used: {error}") from error


class FolderPlayer:
    """Keeps every sentence as a WAV file of its own, for machines without a loudspeaker."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    async def play(self, wav: bytes) -> None:
        self._count += 1
        file = self._folder / f"spoken-{self._count:04}.wav"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            await to_thread.run_sync(write_file, file, wav)
        except OSError as error:
            raise VoiceError(str(file), f"cannot be written: {error.strerror}") from error


def find_player() -> Player | None:
    """Return a player that can be heard on this machine; None if there is none."""
    with suppress(VoiceError):
        sounddevice = load_library("sounddevice")
        with suppress(sounddevice.PortAudioError):
            sounddevice.query_devices(kind="output")
            return DevicePlayer()
    return AplayPlayer() if shutil.which("aplay") and any(Path("/dev/snd").glob("pcm*p")) else None


async def transform(command: Sequence[str], data: bytes) -> bytes:
    """Return a program's output for an input; raises VoiceError. Once cancelled, it is dead with all it started."""
    try:
        done = await run_program(command, stdin=data, environ=os.environ, cwd=Path.cwd())
    except OSError as error:
        raise VoiceError(command[0], f"cannot be started: {error.strerror}") from error
    if done.status != 0:
        said = done.tail.rpartition("\n")[2]
        raise VoiceError(command[0], f"it ended with status {done.status}{said and f': {said}'}")
    return done.output


class Speaker(Protocol):
    async def say(self, sentence: str) -> None:
        """Say it, and return when it has been said; cancelled, it is silent at once. Raises VoiceError."""


class EspeakSpeaker:
    """espeak-ng, in a process for each sentence; the sentence goes through its stdin, so it is never an option."""

    def __init__(self, player: Player, *, voice: str = "en-us", speed: int = 165, program: str = "espeak-ng") -> None:
        self._player = player
        self._voice = voice
        self._speed = speed
        self._program = program

    async def say(self, sentence: str) -> None:
        path = shutil.which(self._program)
        if path is None:
            remedy = "it is not installed (Debian: apt install espeak-ng), or set voice.speaker: off"
            raise VoiceError(self._program, remedy)
        command = [path, "-b", "1", "-v", self._voice, "-s", str(self._speed), "--stdin", "--stdout"]
        # In double brackets espeak-ng reads phonemes.
        text = sentence.replace("[[", "[").replace("]]", "]")
        wav = await transform(command, text.encode(errors="replace"))
        if not wav:
            raise VoiceError(self._program, f"it made no sound; does the voice {self._voice!r} exist?")
        # It was streamed, so the length in its head is not the true one.
        await self._player.play(write_wav(b"".join(read_audio(io.BytesIO(wav), self._program))))
