"""BackgroundTranscriber: listens in the background, has what it hears answered, and speaks the answers.

Two tasks: one listens and never waits for the other, one answers an utterance at a time. Between them wait a few
utterances; what a live source brings beyond that drops the oldest, what a file brings waits.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from ot.ai import Event
from ot.config.models import VoiceSettings
from ot.errors import OneToolError
from ot.execution.wording import word_error
from ot.logs import LogSpan, write_log
from ot_voice.answer import Answer
from ot_voice.audio import Utterance
from ot_voice.ear import Ear, Sound, WakeWordHeard
from ot_voice.events import AnswerEnded, Dropped, Failed, Heard, Interrupted, NotUnderstood, VoiceEvent
from ot_voice.recognisers import Recogniser, Transcript
from ot_voice.sources import AudioSource, read_blocks
from ot_voice.speech import Speaker
from ot_voice.vad import SpeechBegan

_LONGEST_PREPARATION = 180.0  # seconds


class Answers(Protocol):
    """Whoever answers: an AI client on a ToolExecutor. Closing or cancelling a reply stops it and its tool calls."""

    def reply(self, text: str) -> AsyncIterator[Event]: ...


class BackgroundTranscriber:
    """`async with BackgroundTranscriber(...) as listening: await listening.finished()`.

    It closes with everything it started: no process, thread or request outlives the block.
    """

    def __init__(
        self,
        source: AudioSource,
        ear: Ear,
        recogniser: Recogniser,
        answers: Answers | None,
        *,
        settings: VoiceSettings,
        speaker: Speaker | None = None,
        watch: Callable[[VoiceEvent], None] = lambda _: None,
        beside: Callable[[], Coroutine[object, object, None]] | None = None,
    ) -> None:
        """`watch` is told what happens; `beside` is a task of whoever builds this, for as long as it listens."""
        self._source = source
        self._ear = ear
        self._recogniser = recogniser
        self._answers = answers
        self._settings = settings
        self._speaker = speaker
        self._watch = watch
        self._beside = beside
        self._answer: Answer | None = None
        self._prepared = anyio.Event()
        self._ended = anyio.Event()
        self._failure: OneToolError | None = None
        self._tasks: TaskGroup

    async def __aenter__(self) -> Self:
        self._heard, self._waiting = anyio.create_memory_object_stream[Utterance](self._settings.queue)
        self._tasks = await anyio.create_task_group().__aenter__()
        if self._beside is not None:
            self._tasks.start_soon(self._beside)
        self._tasks.start_soon(self._prepare)
        self._tasks.start_soon(self._listen)
        self._tasks.start_soon(self._serve)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._tasks.cancel_scope.cancel()
        with self._heard, self._waiting:
            if kind is not None and issubclass(kind, Exception):
                # Told of it, the task group would wrap the body's own exception into a group.
                await self._tasks.__aexit__(None, None, None)
                return None
            return await self._tasks.__aexit__(kind, error, traceback)

    async def finished(self) -> None:
        """Wait until the source has ended and everything heard is answered; raises VoiceError if it broke off."""
        await self._ended.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let `finished` return now."""
        self._ended.set()

    def interrupt(self) -> None:
        """Stop the answer that is being given, if there is one."""
        if self._answer is not None:
            self._answer.stop()

    async def _prepare(self) -> None:
        """Load models before they are needed; a failure is reported when they are."""
        try:
            with anyio.fail_after(_LONGEST_PREPARATION):
                await self._recogniser.prepare()
        except OneToolError as error:
            write_log(logging.WARNING, "voice.prepare", error=word_error(error))
        except TimeoutError:
            write_log(logging.WARNING, "voice.prepare", error=f"it took longer than {_LONGEST_PREPARATION:g} s")
        finally:
            self._prepared.set()

    async def _listen(self) -> None:
        try:
            async with aclosing(read_blocks(self._source)) as blocks:
                async for block in blocks:
                    # Off the event loop: the models take a few milliseconds for each block.
                    for sound in await to_thread.run_sync(self._ear.hear, block):
                        await self._take(sound)
            for sound in await to_thread.run_sync(self._ear.finish):
                await self._take(sound)
        except OneToolError as error:
            write_log(logging.ERROR, "voice.source", error=word_error(error))
            self._failure = error
        finally:
            self._heard.close()
            self._ear.close()

    async def _take(self, sound: Sound) -> None:
        match sound:
            case SpeechBegan() | WakeWordHeard():
                self._watch(sound)
                # A file does not interrupt: its next sentence was not said while the answer could be heard.
                if self._source.live and self._settings.barge_in:
                    self.interrupt()
            case Utterance():
                if self._source.live:
                    self._put_live(sound)
                else:
                    await self._heard.send(sound)

    def _put_live(self, utterance: Utterance) -> None:
        try:
            self._heard.send_nowait(utterance)
        except anyio.WouldBlock:
            dropped = self._waiting.receive_nowait()
            self._heard.send_nowait(utterance)
            write_log(logging.WARNING, "voice.dropped", seconds=round(dropped.seconds, 2), start=dropped.start)
            self._watch(Dropped(dropped.seconds, dropped.start))

    async def _serve(self) -> None:
        try:
            async for utterance in self._waiting:
                transcript = await self._recognise(utterance)
                if transcript is None:
                    continue
                if not transcript.text.strip():
                    self._watch(NotUnderstood())
                elif self._answers is not None:
                    await self._reply(transcript.text, self._answers)
        finally:
            self._ended.set()

    async def _recognise(self, utterance: Utterance) -> Transcript | None:
        """Return the words of an utterance; None if the recogniser failed, which is reported."""
        await self._prepared.wait()  # loading is not part of the limit: on a busy machine it may take longer
        limit = self._settings.recognition_timeout
        with LogSpan("voice.recognise", seconds=round(utterance.seconds, 2)) as span:
            try:
                with anyio.fail_after(limit):
                    transcript = await self._recogniser.transcribe(utterance.audio)
            except TimeoutError:
                span.status = "timeout"
                self._fail("recognition", f"it took longer than {limit:g} s and was stopped")
                return None
            except Exception as error:  # noqa: BLE001 - a recogniser is pluggable; whatever it raises, listening goes on
                span.status = "failed"
                self._fail("recognition", _word(error))
                return None
            span.add(engine=transcript.engine, characters=len(transcript.text))
        if transcript.text.strip():
            self._watch(Heard(transcript.text, transcript.engine, transcript.confidence, span.duration))
        return transcript

    async def _reply(self, text: str, answers: Answers) -> None:
        self._answer = Answer(self._speaker, self._watch)
        with LogSpan("voice.answer") as span:
            try:
                await self._answer.give(answers.reply(text))
            except Exception as error:  # noqa: BLE001 - what answers is pluggable; whatever it raises, listening goes on
                span.status = "failed"
                self._fail("answer", _word(error))
            finally:
                stopped, self._answer = self._answer.stopped, None
            if stopped:
                span.status = "interrupted"
        self._watch(Interrupted() if stopped else AnswerEnded(text))

    def _fail(self, part: str, reason: str) -> None:
        write_log(logging.WARNING, f"voice.{part}", reason=reason)
        self._watch(Failed(part, reason))


def _word(error: Exception) -> str:
    return word_error(error) if isinstance(error, OneToolError) else f"{type(error).__name__}: {error}"
