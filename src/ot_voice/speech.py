"""Speaking: espeak-ng makes the sound, a player plays it; once stopped, both have ended."""

from __future__ import annotations

import io
import shutil
from typing import Protocol

from ot.errors import VoiceError
from ot_voice.players import Player, transform
from ot_voice.wav import read_audio, write_wav


class Speaker(Protocol):
    """Says sentences."""

    async def say(self, sentence: str) -> None:
        """Say it, and return when it has been said; cancelled, it is silent at once. Raises VoiceError."""
        ...


class EspeakSpeaker:
    """espeak-ng, in a process for each sentence; the sentence goes through its stdin, so it is never an option."""

    def __init__(self, player: Player, *, voice: str = "en-us", speed: int = 165, program: str = "espeak-ng") -> None:
        self._player = player
        self._voice = voice
        self._speed = speed
        self._program = program

    async def say(self, sentence: str) -> None:
        await self._player.play(await self.synthesise(sentence))

    async def synthesise(self, sentence: str) -> bytes:
        """Return the sentence as a WAV file in this package's one form."""
        path = shutil.which(self._program)
        if path is None:
            raise VoiceError(
                self._program, "it is not installed (Debian: apt install espeak-ng), or set voice.speaker: off"
            )
        command = [path, "-b", "1", "-v", self._voice, "-s", str(self._speed), "--stdin", "--stdout"]
        # In double brackets espeak-ng reads phonemes.
        text = sentence.replace("[[", "[").replace("]]", "]")
        wav = await transform(command, text.encode(errors="replace"))
        if not wav:
            raise VoiceError(self._program, f"it made no sound; does the voice {self._voice!r} exist?")
        # It was streamed, so the length in its head is not the true one.
        return write_wav(b"".join(read_audio(io.BytesIO(wav), self._program)))
