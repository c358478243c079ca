"""BackgroundTranscriber: listens in the background, has what it hears answered, and speaks the answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from types import TracebackType
from typing import Protocol, Self

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from ot.ai import Event, Finished, TextDelta
from ot.config.assistant import VoiceSettings
from ot.errors import OneToolError
from ot.execution.wording import word_error
from ot.logs import LogSpan, write_log
from ot_voice import events
from ot_voice.answer import Answer
from ot_voice.audio import Utterance
from ot_voice.consent import OpenQuestion, read_aloud
from ot_voice.ear import Ear, Sound, SpeechBegan, WakeWordHeard
from ot_voice.grammar import find_missing
from ot_voice.players import Speaker
from ot_voice.recognisers import Recogniser, Transcript
from ot_voice.sources import AudioSource, read_blocks

_LONGEST_PREPARATION = 180.0  # seconds
_ECHO = 0.4  # seconds in which a room still returns what the loudspeaker said
_LATE = 5.0  # seconds that a busy machine may take longer
_FRESH = 0.02  # seconds of waiting after which a block is what is heard now, and not what has piled up


class Answers(Protocol):
    """Answers what was said, as an AI client does. Closing or cancelling a reply stops it and its tool calls."""

    def reply(self, text: str) -> AsyncIterator[Event]: ...


class BackgroundTranscriber:
    """`async with BackgroundTranscriber(...) as listening: await listening.finished()`; all it starts ends with it."""

    def __init__(
        self,
        source: AudioSource,
        ear: Ear,
        recogniser: Recogniser,
        answers: Answers | None,
        *,
        settings: VoiceSettings,
        speaker: Speaker | None = None,
        watch: Callable[[events.VoiceEvent], None] = lambda _: None,
        beside: Callable[[], Coroutine[object, object, None]] | None = None,
    ) -> None:
        """`watch` is called with each event; `beside` is a task that runs for as long as this listens."""
        self._source = source
        self._ear = ear
        self._recogniser = recogniser
        self._answers = answers
        self._settings = settings
        self._speaker = speaker
        self._watch = watch
        self._beside = beside
        self._answer: Answer | None = None
        self._answered = Utterance(b"", 0.0, 0.0)  # the last one
        self._kept: Utterance | None = None  # comes before those that wait
        self._question: OpenQuestion | None = None
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
        if self._answer is not None:
            self._answer.stop()

    async def ask(self, question: str) -> bool | None:
        """Read a question aloud in the middle of an answer; return the yes or no that is said next, None for others."""
        if self._answer is None:
            return None
        with LogSpan("voice.consent") as span:
            self._watch(events.Asking(question))
            agreed = await self._settle(question, self._answer)
            span.add(agreed=agreed is True)
        self._watch(events.Answered(agreed is True))
        return agreed

    async def _settle(self, question: str, answer: Answer) -> bool | None:
        self._question = OpenQuestion() if self._source.live else None
        try:
            for sentence in read_aloud(question):
                if not await answer.say(sentence):
                    return None
            if self._question is None:
                asked_at = self._answered.end
                self._watch(events.Asked())
                utterance = await self._next()
                if utterance is not None and utterance.start > asked_at + self._settings.answer_window:
                    self._kept, utterance = utterance, None  # said long after what is being answered
            else:  # neither what was said before the end of the question, nor our own voice
                await anyio.sleep(_ECHO)
                self._question.said = True
                longest = self._settings.vad.max_length + self._settings.vad.min_silence + _LATE
                utterance = await self._question.answer(patience=self._settings.answer_window, longest=longest)
        finally:
            self._question = None
        if utterance is None:
            return None
        agreed = await self._understand(utterance)
        if agreed is None and self._settings.wake_word is None:
            self._kept = utterance  # no answer, but perhaps the next request
        return agreed

    async def _understand(self, utterance: Utterance) -> bool | None:
        try:
            with anyio.fail_after(self._settings.recognition_timeout):
                return await self._recogniser.hear_answer(utterance.audio)
        except TimeoutError:
            self._fail("recognition", f"it took longer than {self._settings.recognition_timeout:g} s and was stopped")
        except OneToolError as error:
            self._fail("recognition", word_error(error))
        return False

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
                waited_since = anyio.current_time()
                async for block in blocks:
                    question = self._question
                    fresh = anyio.current_time() - waited_since >= _FRESH
                    if fresh and question is not None and question.said and not question.is_open:
                        self._ear.attend(self._settings.answer_window)
                        question.is_open = True
                        self._watch(events.Asked())
                    # Off the event loop: the models take a few milliseconds for each block.
                    for sound in await to_thread.run_sync(self._ear.hear, block):
                        await self._take(sound)
                    waited_since = anyio.current_time()
            for sound in await to_thread.run_sync(self._ear.finish):
                await self._take(sound)
        except OneToolError as error:
            write_log(logging.ERROR, "voice.source", error=word_error(error))
            self._failure = error
        finally:
            self._heard.close()
            self._ear.close()
            if self._question is not None:
                self._question.end()

    async def _take(self, sound: Sound) -> None:
        match sound:
            case SpeechBegan() if self._question is not None:
                self._question.begin()
            case Utterance() if self._question is not None:
                self._question.take(sound)
            case SpeechBegan() | WakeWordHeard():
                self._watch(sound)
                # A file does not interrupt: its next sentence was not said while the answer could be heard.
                if self._source.live and self._settings.barge_in:
                    self.interrupt()
            case Utterance():
                if self._source.live and self._waiting.statistics().current_buffer_used >= self._settings.queue:
                    dropped = self._waiting.receive_nowait()
                    write_log(logging.WARNING, "voice.dropped", seconds=round(dropped.seconds, 2), start=dropped.start)
                    self._watch(events.Dropped(dropped.seconds, dropped.start))
                await self._heard.send(sound)

    async def _serve(self) -> None:
        try:
            while (utterance := await self._next()) is not None:
                self._answered = utterance
                transcript = await self._recognise(utterance)
                if transcript is None:
                    continue
                if not transcript.text.strip():
                    self._watch(events.NotUnderstood())
                elif self._answers is not None:
                    text = await self._confirm(transcript) if transcript.doubted else transcript.text
                    if text:  # which may lack its device: then that is asked for
                        missing = find_missing(text)
                        await self._reply(text, _say(missing) if missing else self._answers.reply(text))
        finally:
            self._ended.set()

    async def _next(self) -> Utterance | None:
        kept, self._kept = self._kept, None
        if kept is not None:
            return kept
        try:
            return await self._waiting.receive()
        except anyio.EndOfStream:
            return None

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
        if transcript.doubted and (self._answers is None or self._speaker is None):
            transcript = Transcript(transcript.doubted, transcript.engine)  # nobody can be asked
        if transcript.text.strip():
            self._watch(events.Heard(transcript.text, transcript.engine, transcript.confidence, span.duration))
        return transcript

    async def _confirm(self, transcript: Transcript) -> str:
        """Return what was said, after asking; nothing if something else was said instead of an answer."""
        questions = {f"Did you say: {transcript.text}?": transcript.text}
        if transcript.alternative:
            questions[f"Or was it: {transcript.alternative}?"] = transcript.alternative
        meant = ""

        async def put() -> AsyncIterator[Event]:
            nonlocal meant
            for question, command in questions.items():
                agreed = await self.ask(question)
                if agreed is not False:  # only who says no is asked about something else
                    meant = command if agreed else ""
                    break
            yield Finished()

        self._answer = Answer(self._speaker, self._watch)
        try:
            await self._answer.give(put())
        finally:
            stopped, self._answer = self._answer.stopped, None
        if meant:
            return meant
        return "" if stopped or self._kept is not None else transcript.doubted

    async def _reply(self, text: str, reply: AsyncIterator[Event]) -> None:
        self._answer = Answer(self._speaker, self._watch)
        with LogSpan("voice.answer") as span:
            try:
                await self._answer.give(reply)
            except Exception as error:  # noqa: BLE001 - what answers is pluggable; whatever it raises, listening goes on
                span.status = "failed"
                self._fail("answer", _word(error))
            finally:
                stopped, self._answer = self._answer.stopped, None
            if stopped:
                span.status = "interrupted"
        self._watch(events.Interrupted() if stopped else events.AnswerEnded(text))

    def _fail(self, part: str, reason: str) -> None:
        write_log(logging.WARNING, f"voice.{part}", reason=reason)
        self._watch(events.Failed(part, reason))


async def _say(text: str) -> AsyncIterator[Event]:
    yield TextDelta(text)
    yield Finished()


def _word(error: Exception) -> str:
    return word_error(error) if isinstance(error, OneToolError) else f"{type(error).__name__}: {error}"
