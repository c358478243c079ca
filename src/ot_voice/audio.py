"""The one form of audio in this package: 16-bit little-endian samples, 16,000 per second, one channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mcp_core.quick_dataclass import dataclass

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
