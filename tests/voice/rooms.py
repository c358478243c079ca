"""Rooms for tests and benchmarks: the echoes of a shoebox by image sources, and noise at a given ratio to the speech."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy

from tests.voice.spoken_audio import RATE, to_bytes, to_samples

_SOUND = 343.0  # metres a second


@dataclass(frozen=True, slots=True)
class Room:
    """A shoebox of so many metres whose walls return a share of the sound, which fades by 60 dB in `fade` seconds."""

    name: str
    size: tuple[float, float, float]
    wall: float  # of the amplitude
    fade: float
    mouth: tuple[float, float, float]
    ear: tuple[float, float, float]

    @cache  # noqa: B019 - of a frozen value; there are a few rooms
    def respond(self) -> Any:
        """Return the impulse response: every image of the mouth in the walls, the first arrival at its beginning."""
        size, mouth, ear = (numpy.array(place) for place in (self.size, self.mouth, self.ear))
        length = int(self.fade * RATE)
        reach = [int(numpy.ceil(self.fade * _SOUND / (2 * side))) for side in self.size]
        orders = numpy.stack(numpy.meshgrid(*(numpy.arange(-n, n + 1) for n in reach), indexing="ij"), -1).reshape(
            -1, 3
        )
        response = numpy.zeros(length)
        for mirrored in numpy.ndindex(2, 2, 2):
            sides = numpy.array(mirrored)
            images = (1 - 2 * sides) * mouth + 2 * orders * size
            distance = numpy.sqrt(((images - ear) ** 2).sum(axis=1))
            bounces = (abs(orders - sides) + abs(orders)).sum(axis=1)
            arrival = (distance / _SOUND * RATE).round().astype(int)
            heard = arrival < length
            numpy.add.at(response, arrival[heard], (self.wall**bounces / distance)[heard])
        return response[int(numpy.argmax(response != 0)) :]


LIVING_ROOM = Room("living room", (4.2, 5.1, 2.6), 0.78, 0.31, (1.2, 1.4, 1.6), (2.3, 2.6, 1.1))
HALL = Room("hall", (6.3, 8.4, 3.1), 0.83, 0.62, (1.9, 2.2, 1.6), (3.4, 4.1, 1.1))
ROOMS = (LIVING_ROOM, HALL)


def heard_in(room: Room, sentence: bytes, *, ratio: float = 20.0, seed: int = 0, around: float = 0.6) -> bytes:
    """A sentence as a microphone in the room hears it, with pink noise so many dB below it and a pause around it."""
    said, response = to_samples(sentence), room.respond()
    size = len(said) + len(response)
    echoing = numpy.fft.irfft(numpy.fft.rfft(said, size) * numpy.fft.rfft(response, size), size)
    pause = numpy.zeros(int(around * RATE))
    sound = numpy.concatenate([pause, echoing, pause, pause])
    speech = numpy.sqrt((echoing[: len(said)] ** 2).mean())
    noise = _pink(len(sound), seed)
    sound += noise * speech / 10 ** (ratio / 20)
    return to_bytes(sound / abs(sound).max() * 0.5)


def _pink(count: int, seed: int) -> Any:
    """Noise of power 1 that falls by 3 dB an octave, as that of rooms does."""
    spectrum = numpy.fft.rfft(numpy.random.default_rng(seed).normal(size=count))
    spectrum /= numpy.sqrt(numpy.maximum(1.0, numpy.arange(len(spectrum))))
    noise = numpy.fft.irfft(spectrum, count)
    return noise / noise.std()
