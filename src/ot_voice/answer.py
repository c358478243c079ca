"""One answer: the reply of the AI client is shown as it comes and spoken sentence by sentence; both stop together."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from ot.ai import Event, Retrying, TextDelta, ToolStarted
from ot.errors import VoiceError
from ot.execution.wording import word_error
from ot_voice.events import Answering, Failed, Spoken, VoiceEvent
from ot_voice.players import Speaker

LONGEST = 400  # characters that are said at once, where no sentence ends earlier
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$")
_MARK = re.compile(r"^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)")
_ADDRESS = re.compile(r"<?(?:https?|ftp)://[^\s>]+>?|\bwww\.\S+", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^>\n]{0,200}>")
_CODE = re.compile(r"`+([^`\n]*)`+")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNSPEAKABLE = re.compile(r"[^\w\s.,;:!?%°€$£&+'’()/@=-]|_")
_END = re.compile(r"[.!?…:]['\"”’)\]]*\s|\n")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|vs|etc|e\.g|i\.e|approx|No)\.$", re.IGNORECASE)
_CLOSING = 5.0  # seconds that a reply may take to end
_Sentence = tuple[str, anyio.Event | None]  # and what is set when it has been said
_SENTENCES_WAITING = 256  # to be spoken; a model that is ahead by more waits


class Sentences:
    """Turns the pieces of a stream into complete sentences, ready to be spoken."""

    def __init__(self) -> None:
        self._rest = ""
        self._in_code = False

    def add(self, piece: str) -> list[str]:
        self._rest += piece
        spoken = []
        while (sentence := self._next()) is not None:
            spoken.append(clean(sentence))
        return [sentence for sentence in spoken if sentence]

    def finish(self) -> list[str]:
        """End the answer; what is left is its last sentence."""
        sentences = self.add("\n")
        self._in_code = False
        return sentences

    def clear(self) -> None:
        """Forget what was not spoken yet: the model has taken it back."""
        self._rest, self._in_code = "", False

    def _next(self) -> str | None:
        """Return the next complete piece of text, an empty one for code; None if there is none yet."""
        if self._in_code or _FENCE.match(self._rest):
            line, newline, after = self._rest.partition("\n")
            if not newline:
                return None
            if _FENCE.match(line):
                self._in_code = not self._in_code
            self._rest = after
            return ""
        for found in _END.finditer(self._rest):
            if not _ABBREVIATION.search(self._rest[: found.end()].rstrip()) or found[0].endswith("\n"):
                return self._cut(found.end())
        if len(self._rest) > LONGEST:
            return self._cut(max(self._rest.rfind(" ", 0, LONGEST), LONGEST // 2))
        return None

    def _cut(self, end: int) -> str:
        sentence, self._rest = self._rest[:end], self._rest[end:]
        return sentence


def clean(text: str) -> str:
    """Return the speakable words of one line; nothing if there are none."""
    if _RULE.match(text):
        return ""
    text = _ADDRESS.sub("", _IMAGE_OR_LINK.sub(r"\1", _MARK.sub("", text, count=1)))
    text = _EMPHASIS.sub(r"\2", _TAG.sub("", _CODE.sub(r"\1", text)))
    text = " ".join(_UNSPEAKABLE.sub(" ", text).split())
    return text if any(character.isalnum() for character in text) else ""


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
            if (close := getattr(reply, "aclose", None)) is not None:
                with anyio.move_on_after(_CLOSING, shield=True):
                    await close()

    async def _speak(self, sentences: MemoryObjectReceiveStream[_Sentence]) -> None:
        """Say each sentence; a failing speaker is reported once, and the answer continues without it."""
        with sentences:
            async for sentence, said in sentences:
                if self._speaker is not None:
                    try:
                        await self._speaker.say(sentence)
                    except VoiceError as error:
                        self._watch(Failed("speech", word_error(error)))
                        self._speaker = None
                    else:
                        self._watch(Spoken(sentence))
                if said is not None:
                    said.set()


async def _say_all(sentences: Iterable[str], say: Callable[[_Sentence], Awaitable[None]]) -> None:
    for sentence in sentences:
        await say((sentence, None))
