"""One answer: the reply of the AI client is shown as it comes and spoken sentence by sentence; both stop together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from ot.ai import Event, Retrying, TextDelta, ToolStarted
from ot.errors import VoiceError
from ot.execution.wording import word_error
from ot_voice.events import Answering, Failed, Spoken, VoiceEvent
from ot_voice.players import Speaker
from ot_voice.spoken_text import Sentences

_CLOSING = 5.0  # seconds that a reply may take to end
_Sentence = tuple[str, anyio.Event | None]  # and what is set when it has been said
_SENTENCES_WAITING = 256  # to be spoken; a model that is ahead by more waits


class Answer:
    """An answer that is given once; `stop` may be called at any time, from the same event loop."""

    def __init__(self, speaker: Speaker | None, watch: Callable[[VoiceEvent], None]) -> None:
        self._speaker = speaker
        self._watch = watch
        self._scope = anyio.CancelScope()
        self._say: Callable[[_Sentence], Awaitable[None]] | None = None

    @property
    def stopped(self) -> bool:
        return self._scope.cancel_called

    def stop(self) -> None:
        """End the reply and the speech, now."""
        self._scope.cancel()

    async def say(self, sentence: str) -> bool:
        """Say something after what has been written so far; True if it was heard to its end."""
        if self._say is None or self._speaker is None:
            return False
        said = anyio.Event()
        await self._say((sentence, said))
        await said.wait()
        return self._speaker is not None

    async def give(self, reply: AsyncIterator[Event]) -> None:
        """Return when all of it has been said, or it was stopped; raises what the reply raises."""
        failure: Exception | None = None
        send, receive = anyio.create_memory_object_stream[_Sentence](_SENTENCES_WAITING)
        with self._scope:
            async with anyio.create_task_group() as tasks, send:
                tasks.start_soon(self._speak, receive)
                self._say = send.send
                try:
                    await self._follow(reply, send.send)
                except Exception as error:  # noqa: BLE001 - raised below: out of a task group it would come as a group
                    failure = error
        if failure is not None:
            raise failure

    async def _follow(self, reply: AsyncIterator[Event], say: Callable[[_Sentence], Awaitable[None]]) -> None:
        sentences = Sentences()
        try:
            async for event in reply:
                self._watch(Answering(event))
                match event:
                    case TextDelta():
                        await _say_all(sentences.add(event.text), say)
                    case ToolStarted():
                        await _say_all(sentences.finish(), say)  # "One moment": now, not after the tool
                    case Retrying() if event.withdrawn:
                        sentences.clear()
                    case _:
                        pass
            await _say_all(sentences.finish(), say)
        finally:
            close = getattr(reply, "aclose", None)
            if close is not None:
                with anyio.move_on_after(_CLOSING, shield=True):
                    await close()

    async def _speak(self, sentences: MemoryObjectReceiveStream[_Sentence]) -> None:
        """Say each sentence; a failing speaker is reported once, and the answer continues without it."""
        with sentences:
            async for sentence, said in sentences:
                if self._speaker is not None:
                    await self._speak_one(sentence, self._speaker)
                if said is not None:
                    said.set()

    async def _speak_one(self, sentence: str, speaker: Speaker) -> None:
        try:
            await speaker.say(sentence)
        except VoiceError as error:
            self._watch(Failed("speech", word_error(error)))
            self._speaker = None
        else:
            self._watch(Spoken(sentence))


async def _say_all(sentences: Iterable[str], say: Callable[[_Sentence], Awaitable[None]]) -> None:
    for sentence in sentences:
        await say((sentence, None))
