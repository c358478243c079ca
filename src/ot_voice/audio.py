"""The one form of audio in this package, 16-bit samples, 16,000 per second, one channel, and WAV files of any form.

WAV files have any rate, width and number of channels, and are often cut short. The standard library reads neither float
samples nor the extensible format that recorders write, and believes a length that a program which streams its output
could not know.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from mcp_core.quick_dataclass import dataclass
from ot.errors import MissingVoiceError, VoiceError

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
LOWEST_RATE, HIGHEST_RATE = 4_000, 384_000
MOST_CHANNELS = 64
_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_UNKNOWN_LENGTH = 0x7FFFF000  # and above: what programs write that do not know the length yet


def load_library(name: str) -> ModuleType:
    """Import a module by name; raises MissingVoiceError, which says how to install it, or VoiceError."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingVoiceError(name.partition(".")[0], f"{type(error).__name__}: {error}") from error
    except OSError as error:
        # The module is there, a library of the system is not: for sounddevice, and for Moonshine, that is PortAudio.
        reason = f"{error}; it needs a system library (Debian: apt install libportaudio2)"
        raise VoiceError(name.partition(".")[0], reason) from error


if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Samples: TypeAlias = NDArray[numpy.floating]
    """One channel, from -1 to 1."""


RATE = 16_000  # samples a second
SAMPLE = 2  # bytes
BLOCK = 512 * SAMPLE  # bytes that speech detection looks at: 32 ms


def seconds_of(size: int) -> float:
    return size / (RATE * SAMPLE)


def samples_of(audio: bytes) -> Samples:
    numpy = load_library("numpy")
    samples: Samples = numpy.frombuffer(audio, "<i2").astype(numpy.float32) / 32768
    return samples


def bytes_of(seconds: float) -> int:
    """Return how many bytes last so long, in whole samples."""
    return int(seconds * RATE) * SAMPLE


@dataclass(frozen=True, slots=True)
class Utterance:
    audio: bytes  # speech without a longer pause
    start: float  # seconds since listening began
    end: float
    cut: bool = False  # it was longer than an utterance may be, and goes on in the next one

    @property
    def seconds(self) -> float:
        return seconds_of(len(self.audio))


class Resampler:
    """Float samples in at `rate`, 16-bit bytes out at RATE; the pieces may have any length."""

    def __init__(self, rate: int) -> None:
        self._numpy = load_library("numpy")
        self._stream = load_library("soxr").ResampleStream(rate, RATE, 1, dtype="float32")

    def feed(self, samples: Samples, *, last: bool = False) -> bytes:
        out = self._stream.resample_chunk(samples.astype(self._numpy.float32), last=last)
        audio: bytes = (self._numpy.clip(out, -1, 1) * 32767).round().astype("<i2").tobytes()
        return audio

    def finish(self) -> bytes:
        """Return the samples that were still waiting for what comes after them."""
        return self.feed(self._numpy.zeros(0, "float32"), last=True)


@dataclass(frozen=True, slots=True)
class WavFormat:
    kind: int
    channels: int
    rate: int
    bits: int

    @property
    def frame(self) -> int:
        return self.channels * self.bits // 8


def read_samples(stream: BinaryIO, name: str, *, frames: int = 4096) -> Iterator[tuple[WavFormat, Samples]]:
    """Read a WAV file in pieces, as far as it goes: its format, and float samples of one channel; raises VoiceError."""
    form, left = _read_head(stream, name)
    while left > 0:
        piece = stream.read(min(frames * form.frame, left))
        whole = len(piece) - len(piece) % form.frame
        if not whole:
            return
        left -= len(piece)
        yield form, _to_mono(piece[:whole], form)


def read_audio(stream: BinaryIO, name: str, *, frames: int = 4096) -> Iterator[bytes]:
    """Read a WAV file piece by piece, in this package's one form; raises VoiceError."""
    resampler = None
    for form, samples in read_samples(stream, name, frames=frames):
        resampler = resampler or Resampler(form.rate)
        yield resampler.feed(samples)
    if resampler is not None:
        yield resampler.finish()


def write_wav(audio: bytes) -> bytes:
    form = (b"fmt ", 16, PCM, 1, RATE, RATE * SAMPLE, SAMPLE, 16)
    return _HEADER.pack(b"RIFF", 36 + len(audio), b"WAVE", *form, b"data", len(audio)) + audio


def _read_head(stream: BinaryIO, name: str) -> tuple[WavFormat, int]:
    head = stream.read(12)
    if not head:
        raise VoiceError(name, "the file is empty")
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
        raise VoiceError(name, "this is not a WAV file")
    form = None
    while len(chunk := stream.read(_CHUNK.size)) == _CHUNK.size:
        kind, size = _CHUNK.unpack(chunk)
        if kind == b"data":
            if form is None:
                raise VoiceError(name, "its samples come before their format")
            return form, size if 0 < size < _UNKNOWN_LENGTH else 1 << 62
        content = stream.read(min(size, 64))
        left = size + size % 2 - len(content)  # skipped, however long it claims to be; chunks have even lengths
        while left > 0 and (skipped := stream.read(min(left, 65536))):
            left -= len(skipped)
        if kind == b"fmt ":
            form = _read_format(content, name)
    raise VoiceError(name, "the WAV file ends before its samples")


def _read_format(content: bytes, name: str) -> WavFormat:
    if len(content) < _FORMAT.size:
        raise VoiceError(name, "the WAV file's format is cut short")
    kind, channels, rate, _, _, bits = _FORMAT.unpack_from(content)
    if kind == EXTENSIBLE and len(content) >= 26:
        kind = int.from_bytes(content[24:26], "little")
    if (kind, bits) not in _DTYPES:
        raise VoiceError(name, f"WAV format {kind} with {bits} bits cannot be read; use 16-bit PCM")
    if not 0 < channels <= MOST_CHANNELS or not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise VoiceError(name, f"{channels} channels at {rate} Hz cannot be read")
    return WavFormat(kind, channels, rate, bits)


_DTYPES = {
    (PCM, 8): ("u1", 128.0),
    (PCM, 16): ("<i2", 32768.0),
    (PCM, 24): ("u1", 8388608.0),
    (PCM, 32): ("<i4", 2147483648.0),
    (FLOAT, 32): ("<f4", 1.0),
    (FLOAT, 64): ("<f8", 1.0),
}


def _to_mono(piece: bytes, form: WavFormat) -> Samples:
    numpy = load_library("numpy")
    dtype, scale = _DTYPES[form.kind, form.bits]
    values = numpy.frombuffer(piece, dtype)
    if (form.kind, form.bits) == (PCM, 24):
        low, middle, high = values.reshape(-1, 3).astype(numpy.int32).T
        values = low | middle << 8 | ((high ^ 0x80) - 0x80) << 16
    samples = values.astype(numpy.float32) / numpy.float32(scale)
    if (form.kind, form.bits) == (PCM, 8):
        samples -= 1
    mono = samples.reshape(-1, form.channels).mean(axis=1)
    sound: Samples = numpy.nan_to_num(mono, nan=0.0, posinf=1.0, neginf=-1.0)  # float files may hold anything
    return sound
