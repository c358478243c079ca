"""From any rate to 16,000 samples per second, piece by piece and without aliasing, with libsoxr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ot_voice.audio import RATE
from ot_voice.library import load_library

if TYPE_CHECKING:
    from ot_voice.audio import Samples


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
