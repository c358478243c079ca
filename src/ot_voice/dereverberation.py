"""Less of a room's echo: what the recent past of each frequency predicts is taken away (weighted prediction error)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ot_voice.library import load_library

if TYPE_CHECKING:
    from ot_voice.audio import Samples

_WINDOW, _HOP = 512, 128  # samples
_DELAY, _TAPS = 3, 24  # frames: what is nearer is the voice itself, what is farther is faint
_ROUNDS = 3
_LEAST = 1e-8


def dereverberate(samples: Samples) -> Samples:
    """Return speech with less echo, as long as it was; too short a sound is returned as it is."""
    numpy = load_library("numpy")
    if len(samples) < _HOP * (_DELAY + _TAPS) * 2:
        return samples
    window = numpy.sqrt(numpy.hanning(_WINDOW + 1)[:-1])
    padded = numpy.pad(samples, (_WINDOW, _WINDOW + -len(samples) % _HOP))
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP] * window
    heard = numpy.fft.rfft(frames, axis=1).T  # frequency by time
    past = numpy.stack(
        [numpy.pad(heard, ((0, 0), (lag, 0)))[:, : heard.shape[1]] for lag in range(_DELAY, _DELAY + _TAPS)], 1
    )
    dry = heard
    for _ in range(_ROUNDS):
        power = numpy.maximum(abs(dry) ** 2, _LEAST + 1e-4 * (abs(heard) ** 2).mean())
        weighted = past / power[:, None, :]
        spread = weighted @ past.conj().transpose(0, 2, 1)
        spread += numpy.eye(_TAPS) * (1e-6 * numpy.trace(spread, axis1=1, axis2=2).real[:, None, None] + _LEAST)
        shared = weighted @ heard.conj()[:, :, None]
        dry = heard - (numpy.linalg.solve(spread, shared).conj().transpose(0, 2, 1) @ past)[:, 0]
    pieces = numpy.fft.irfft(dry.T, _WINDOW, axis=1) * window
    sound = numpy.zeros(len(padded))
    for index, piece in enumerate(pieces):
        sound[index * _HOP : index * _HOP + _WINDOW] += piece
    whole: Samples = sound[_WINDOW : _WINDOW + len(samples)] / (_WINDOW / _HOP / 2)
    return whole
