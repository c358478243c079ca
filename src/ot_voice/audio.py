"""The one form of audio in this package, 16-bit samples, 16,000 per second, one channel, and the libraries for it."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from mcp_core.quick_dataclass import dataclass
from ot.errors import MissingVoiceError, VoiceError


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
    """Return how many seconds so many bytes last."""
    return size / (RATE * SAMPLE)


def samples_of(audio: bytes) -> Samples:
    """Return audio as the numbers that models take."""
    numpy = load_library("numpy")
    samples: Samples = numpy.frombuffer(audio, "<i2").astype(numpy.float32) / 32768
    return samples


def bytes_of(seconds: float) -> int:
    """Return how many bytes last so long, in whole samples."""
    return int(seconds * RATE) * SAMPLE


@dataclass(frozen=True, slots=True)
class Utterance:
    """Speech without a longer pause; `start` and `end` are seconds since listening began."""

    audio: bytes
    start: float
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
        """Take samples; return those that can be computed by now."""
        out = self._stream.resample_chunk(samples.astype(self._numpy.float32), last=last)
        audio: bytes = (self._numpy.clip(out, -1, 1) * 32767).round().astype("<i2").tobytes()
        return audio

    def finish(self) -> bytes:
        """Return the samples that were still waiting for what comes after them."""
        return self.feed(self._numpy.zeros(0, self._numpy.float32), last=True)
