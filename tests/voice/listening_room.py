"""A transcriber with parts whose behaviour a test decides: audio, words, answers and a voice."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio

from ot.ai.messages import Event, Finished, TextDelta
from ot.config.assistant import VadSettings, VoiceSettings
from ot_voice.audio import BLOCK
from ot_voice.background_transcriber import BackgroundTranscriber
from ot_voice.ear import Ear
from ot_voice.events import VoiceEvent
from ot_voice.recognisers import Transcript

SPEECH, SILENCE = b"\1\0" * (BLOCK // 2), bytes(BLOCK)
UTTERANCE = [SPEECH] * 20 + [SILENCE] * 30

T = TypeVar("T")


def is_speech(block: bytes) -> float:
    """A detector for blocks that are one or the other."""
    return 1.0 if block[0] else 0.0


class Blocks:
    """A source that a test feeds; it is live unless told otherwise, and stays open until `close`."""

    def __init__(self, blocks: Sequence[bytes] = (), *, live: bool = True) -> None:
        self.live = live
        self._blocks = deque(blocks)
        self._closed = False
        self._changed = anyio.Event()

    def say(self, blocks: Sequence[bytes]) -> None:
        self._blocks.extend(blocks)
        self._changed.set()

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        while self._blocks or not self._closed:
            if self._blocks:
                yield self._blocks.popleft()
            else:
                self._changed = anyio.Event()
                await self._changed.wait()


class Words:
    """A recogniser that counts utterances; `step` is awaited with each number, before it answers."""

    def __init__(self, step: Callable[[int], Any] | None = None) -> None:
        self._step = step
        self.begun = 0

    async def prepare(self) -> None:
        pass

    async def transcribe(self, audio: bytes) -> Transcript:
        self.begun += 1
        number = self.begun
        if self._step is not None:
            await self._step(number)
        return Transcript(f"command {number}", "words", 1.0)

    async def hear_answer(self, audio: bytes) -> bool | None:
        return None


class Replies:
    """Answers with an echo in two sentences; `step` is awaited between them. It knows how replies ended."""

    def __init__(self, step: Callable[[], Any] | None = None) -> None:
        self._step = step
        self.asked: list[str] = []
        self.ended: list[str] = []

    async def reply(self, text: str) -> AsyncIterator[Event]:
        self.asked.append(text)
        try:
            yield TextDelta(f"You said {text}. ")
            if self._step is not None:
                await self._step()
            yield TextDelta("That is all.")
            yield Finished()
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        self.ended.append("whole")


class Voice:
    """A speaker that remembers; `step` is awaited for each sentence."""

    def __init__(self, step: Callable[[], Any] | None = None) -> None:
        self._step = step
        self.begun: list[str] = []
        self.stopped: list[str] = []

    async def say(self, sentence: str) -> None:
        self.begun.append(sentence)
        try:
            if self._step is not None:
                await self._step()
        except BaseException:
            self.stopped.append(sentence)
            raise


@dataclass
class Seen:
    """The events of a transcriber, in order."""

    events: list[VoiceEvent] = field(default_factory=list)

    def __call__(self, event: VoiceEvent) -> None:
        self.events.append(event)

    def only(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    async def wait_for(self, kind: type[T], count: int = 1) -> list[T]:
        """Wait until there are so many of a kind."""
        with anyio.fail_after(60):
            while len(self.only(kind)) < count:
                await anyio.sleep(0.005)
        return self.only(kind)


def listen(source: Any, recogniser: Any, answers: Any, seen: Seen, *, speaker: Any = None, **changes: Any) -> Any:
    """A transcriber that takes made-up blocks for speech."""
    settings = VoiceSettings.model_validate(changes)
    ear = Ear(is_speech, VadSettings(min_speech=0.2, min_silence=0.5, max_length=4))
    return BackgroundTranscriber(source, ear, recogniser, answers, settings=settings, speaker=speaker, watch=seen)
