"""From any rate to 16,000 samples a second, piece by piece, without aliases: a windowed sinc in polyphase form."""

from __future__ import annotations

from math import ceil, gcd
from typing import Any

from ot_voice.audio import RATE
from ot_voice.library import load_library

_ZERO_CROSSINGS = 24  # on each side of the sinc, counted at the lower of the two rates
_ROLLOFF = 0.94  # the passed band, as a share of what the lower rate can carry
_BETA = 8.6  # of the Kaiser window: stop band at about -90 dB


class Resampler:
    """Float samples in at `rate`, 16-bit bytes out at RATE; the pieces may have any length."""

    def __init__(self, rate: int) -> None:
        self._numpy = load_library("numpy")
        divisor = gcd(rate, RATE)
        self._up, self._down = RATE // divisor, rate // divisor
        self._same = self._up == self._down
        stretch = max(1.0, rate / RATE)
        self._half = ceil(_ZERO_CROSSINGS * stretch)
        self._phases: Any = None if self._same else self._design(stretch)
        self._history = self._numpy.zeros(self._half - 1, self._numpy.float32)  # before the first sample: silence
        self._next = 0  # index of the next sample out, counted in `up` parts of a sample of the history

    def feed(self, samples: Any) -> bytes:
        """Samples in; those that can be computed by now out."""
        if self._same:
            return self._to_bytes(samples)
        numpy = self._numpy
        self._history = numpy.concatenate([self._history, samples.astype(numpy.float32)])
        taps = 2 * self._half
        ready = len(self._history) - taps + 1  # windows that are complete
        count = max(0, ceil((ready * self._up - self._next) / self._down))
        positions = self._next + numpy.arange(count) * self._down
        starts, phases = positions // self._up, positions % self._up
        windows = numpy.lib.stride_tricks.sliding_window_view(self._history, taps) if count else None
        out = numpy.einsum("ij,ij->i", windows[starts], self._phases[phases]) if windows is not None else samples[:0]
        # What has been used goes; the position is counted from the new beginning.
        self._next += count * self._down
        used = min(self._next // self._up, len(self._history))
        self._history = self._history[used:]
        self._next -= used * self._up
        return self._to_bytes(out)

    def finish(self) -> bytes:
        """The samples that were still waiting for what comes after them: silence."""
        return b"" if self._same else self.feed(self._numpy.zeros(self._half, self._numpy.float32))

    def _design(self, stretch: float) -> Any:
        """One filter for each of the `up` positions between two samples; each passes a constant unchanged."""
        numpy = self._numpy
        offsets = numpy.arange(2 * self._half)[None, :] - self._half + 1
        distance = offsets - (numpy.arange(self._up) / self._up)[:, None]
        cutoff = _ROLLOFF / stretch
        window = numpy.i0(_BETA * numpy.sqrt(numpy.clip(1 - (distance / self._half) ** 2, 0, 1)))
        phases = numpy.sinc(distance * cutoff) * window
        return (phases / phases.sum(axis=1, keepdims=True)).astype(numpy.float32)

    def _to_bytes(self, samples: Any) -> bytes:
        numpy = self._numpy
        out: bytes = (numpy.clip(samples, -1, 1) * 32767).round().astype("<i2").tobytes()
        return out
