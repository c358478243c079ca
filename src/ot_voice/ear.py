"""The ear: turns audio into the moments that matter: speech began, the wake word, a whole utterance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from mcp_core.quick_dataclass import dataclass
from ot.config.models import VadSettings
from ot_voice.audio import BLOCK, Utterance, seconds_of
from ot_voice.vad import Segmenter, SpeechBegan
from ot_voice.wake_word import WakeWord

_KEPT = 0.25  # seconds before the wake word is reported in which the command may have begun already


@dataclass(frozen=True, slots=True)
class WakeWordHeard:
    """The assistant is being spoken to."""

    name: str
    at: float


Sound = SpeechBegan | WakeWordHeard | Utterance


class Ear:
    """Blocking and quick (a few milliseconds for a block): to be called off the event loop, one block at a time.

    With a wake word, only what is said after it counts: in the same breath, or begun within `window` seconds.
    """

    def __init__(
        self,
        detector: Callable[[bytes], float],
        settings: VadSettings,
        *,
        waker: WakeWord | None = None,
        window: float = 8.0,
    ) -> None:
        self._detector = detector
        self._segmenter = Segmenter(settings)
        self._waker = waker
        self._window = window
        self._time = 0.0
        self._awake_until = math.inf if waker is None else -math.inf

    def hear(self, block: bytes) -> list[Sound]:
        """Take one block."""
        return list(self._hear(block))

    def finish(self) -> list[Sound]:
        """End the stream; return what was still being said."""
        return list(self._select(self._segmenter.finish()))

    def attend(self, seconds: float) -> None:
        """Forget what is being said; what begins within so many seconds from now counts without the wake word."""
        self._segmenter.forget()
        if self._waker is not None:
            self._awake_until = self._time + seconds

    def close(self) -> None:
        if self._waker is not None:
            self._waker.close()

    def _hear(self, block: bytes) -> Iterator[Sound]:
        self._time += seconds_of(BLOCK)
        sounds = list(self._segmenter.feed(block, self._detector(block)))
        if self._waker is not None and self._waker.heard_in(block):
            self._awake_until = self._time + self._window
            self._segmenter.restart(keep=_KEPT)
            yield WakeWordHeard(self._waker.name, self._time)
            return  # what was found in this block belongs to the word
        yield from self._select(iter(sounds))

    def _select(self, sounds: Iterator[SpeechBegan | Utterance]) -> Iterator[Sound]:
        for sound in sounds:
            begun = sound.start if isinstance(sound, Utterance) else sound.at
            if begun > self._awake_until:
                continue
            yield sound
            if isinstance(sound, Utterance) and self._waker is not None and not sound.cut:
                self._awake_until = -math.inf
