"""Speech for tests, made by espeak-ng and flite: resampled, of even loudness, with a little noise.

Digital silence confuses recognisers, and no room is that quiet.
"""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from ot_voice.audio import BLOCK, Resampler, read_samples
from tests.availability import require_program

RATE = 16_000
VOICES = ("espeak-us", "espeak-gb", "flite-slt", "flite-rms")
_ESPEAK = {"espeak-us": "en-us", "espeak-gb": "en-gb", "espeak-us-f": "en-us+f3"}
_NOISE = 0.003  # of full scale


def speak(text: str, voice: str = "flite-slt", *, pace: float = 1.0) -> bytes:
    """One sentence by itself: 16-bit samples at 16 kHz, the loudest at half of full scale, no noise."""
    command: list[str | Path]
    if voice in _ESPEAK:
        command = [require_program("espeak-ng"), "-v", _ESPEAK[voice], "-s", str(round(150 * pace)), "--stdout", text]
    else:
        said = ["-voice", voice.removeprefix("flite-"), "--setf", f"duration_stretch={1 / pace:.3f}", "-t", text]
        command = [require_program("flite"), *said, "-o", "/dev/stdout"]
    wav = subprocess.run(command, capture_output=True, check=True).stdout
    pieces = list(read_samples(io.BytesIO(wav), voice))
    resampler = Resampler(pieces[0][0].rate)
    audio = b"".join(resampler.feed(samples) for _, samples in pieces) + resampler.finish()
    samples = to_samples(audio)
    return to_bytes(samples / abs(samples).max() * 0.5)


def in_a_room(*sentences: bytes, before: float = 0.5, between: float = 1.2, after: float = 1.2) -> bytes:
    """Sentences with pauses between them (seconds), and the faint noise that every room has."""
    parts = [silence(before)]
    for index, sentence in enumerate(sentences):
        parts += [sentence, silence(between if index < len(sentences) - 1 else after)]
    samples = to_samples(b"".join(parts))
    noise = numpy.random.default_rng(7).normal(0, _NOISE, len(samples))
    return to_bytes(samples + noise)


def silence(seconds: float) -> bytes:
    return bytes(int(seconds * RATE) * 2)


def to_samples(audio: bytes) -> Any:
    return numpy.frombuffer(audio, "<i2").astype(numpy.float64) / 32768


def to_bytes(samples: Any) -> bytes:
    data: bytes = (numpy.clip(samples, -1, 1) * 32767).round().astype("<i2").tobytes()
    return data


def whole_blocks(audio: bytes) -> bytes:
    """An audio whose last block is filled with silence."""
    return audio + bytes(-len(audio) % BLOCK)


def cut_blocks(audio: bytes) -> Sequence[bytes]:
    """The blocks of an audio, the last filled with silence."""
    filled = whole_blocks(audio)
    return [filled[start : start + BLOCK] for start in range(0, len(filled), BLOCK)]
