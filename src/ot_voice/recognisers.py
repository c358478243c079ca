"""Recognisers: an utterance in, words out. The built-in ones work in helper processes, which can be stopped.

Their libraries block for as long as they like, and a thread cannot be stopped.
"""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import anyio

from mcp_core.distribution import with_extra
from mcp_core.quick_dataclass import dataclass
from ot.errors import MissingVoiceError, ServiceUnavailableError, ToolError, ToolFailedError, VoiceError
from ot.isolate import IsolateHost
from ot.logs import write_log
from ot_voice.audio import bytes_of
from ot_voice.grammar import Names, opposite, read_answer, spoken_names

_SHORTEST = bytes_of(0.1)  # no word is shorter, and engines fail on nothing
_LONGEST_ANSWER = bytes_of(4.0)  # to a yes-or-no question


@dataclass(frozen=True, slots=True)
class Transcript:
    text: str
    engine: str
    confidence: float | None = None  # from 0 to 1; None if the engine does not say
    doubted: str = ""  # what was said if it was not this, so that the person is asked
    unsure: bool = False  # another command is nearly as likely
    alternative: str = ""  # what may be asked next where this was not said


class Recogniser(Protocol):
    """Turns speech into words; once cancelled, it has stopped."""

    async def prepare(self) -> None:
        """Load what takes time; may be called beside `transcribe`, or never."""

    async def transcribe(self, audio: bytes) -> Transcript:
        """Return the words of one utterance, 16-bit samples at 16 kHz; an empty text if there are none."""

    async def hear_answer(self, audio: bytes) -> bool | None:
        """Return the answer to a yes-or-no question; None for everything that is neither."""


class IsolatedRecogniser:
    """A module with `prepare` and `transcribe`, in a helper process of the host; `arguments` go to both."""

    name: str
    module: str
    library: str
    package = with_extra("voice")  # what brings the library

    def __init__(self, host: IsolateHost, **arguments: str) -> None:
        self._host = host
        self._arguments = arguments
        self._one_at_a_time = anyio.Lock()  # a second call would load the model a second time, in another process

    def require(self) -> None:
        if importlib.util.find_spec(self.library) is None:
            raise MissingVoiceError(self.library, "not installed", package=self.package)

    async def prepare(self) -> None:
        await self.call("prepare", **self._arguments)

    async def transcribe(self, audio: bytes) -> Transcript:
        if len(audio) < _SHORTEST:
            return Transcript("", self.name)
        answer = await self.call("transcribe", audio=audio, **self._arguments)
        return Transcript(answer["text"], self.name, answer.get("confidence"))

    async def hear_answer(self, audio: bytes) -> bool | None:
        return read_answer((await self.transcribe(audio)).text)

    async def call(self, function: str, **arguments: object) -> Any:
        """Call one function of the module; raises VoiceError."""
        self.require()
        try:
            async with self._one_at_a_time:
                return await self._host.run(self.module, function, arguments)
        except ToolFailedError as error:
            raise VoiceError(self.name, f"{error.kind}: {error.message} (incident {error.incident})") from error
        except ToolError as error:
            raise VoiceError(self.name, error.message) from error
        except ServiceUnavailableError as error:
            raise VoiceError(self.name, error.reason) from error


class MoonshineRecogniser(IsolatedRecogniser):
    """Free speech in English, on this machine, with the weights of its package."""

    name, module, library = "moonshine", "ot_voice.engines.moonshine", "moonshine_voice"


class FasterWhisperRecogniser(IsolatedRecogniser):
    """Free speech in many languages, where a person has installed it; its weights come from the network once."""

    name, module, library = "faster-whisper", "ot_voice.engines.faster_whisper", "faster_whisper"
    package = "faster-whisper"

    def __init__(self, host: IsolateHost, model: str) -> None:
        super().__init__(host, model=model)


class NamedCommandRecogniser(IsolatedRecogniser):
    """Short commands about the devices and tools that there are right now; `names` is asked before each utterance."""

    def __init__(self, host: IsolateHost, names: Callable[[], Awaitable[Names]]) -> None:
        super().__init__(host)
        self._names = names

    async def prepare(self) -> None:
        devices, tools = await self._spoken()
        await self.call("prepare", devices=tuple(devices), tools=tuple(tools))

    async def transcribe(self, audio: bytes) -> Transcript:
        if len(audio) < _SHORTEST:
            return Transcript("", self.name, 0.0)
        devices, tools = await self._spoken()
        found = await self.call("transcribe", audio=audio, devices=tuple(devices), tools=tuple(tools))
        return self._judge(found, lambda text: restore_names(text, devices))

    def _judge(self, found: Mapping[str, Any], restore: Callable[[str], str]) -> Transcript:
        raise NotImplementedError

    async def _spoken(self) -> tuple[dict[str, str], dict[str, str]]:
        names = await self._names()
        tools = spoken_names(tool.replace(".", " ").replace("_", " ") for tool in names.tools)
        return spoken_names(names.devices), tools


class CommandRecogniser(NamedCommandRecogniser):
    """The command that Moonshine's model finds in a sound, if it may write nothing else."""

    name, module, library = "commands", "ot_voice.engines.moonshine_commands", "onnxruntime"

    def _judge(self, found: Mapping[str, Any], restore: Callable[[str], str]) -> Transcript:
        text = restore(found["text"])
        confidence = probability_of((found["margin"] - _EVEN_WITH_FREE) / _SPREAD_WITH_FREE)
        least = _CLEAR_LEAD_OF_LOCKS if _LOCKS.intersection(text.split()) else _CLEAR_LEAD
        alternative = opposite(text) or (restore(found["next"]) if found["lead"] < _WORTH_ASKING else "")
        return Transcript(text, self.name, confidence, unsure=found["lead"] < least, alternative=alternative)


class GrammarRecogniser(NamedCommandRecogniser):
    """The command that PocketSphinx finds in a sound, which needs little; and answers to questions."""

    name, module, library = "grammar", "ot_voice.engines.pocketsphinx", "pocketsphinx"
    _reported: frozenset[str] = frozenset()

    async def prepare(self) -> None:
        devices, tools = await self._spoken()
        left_out = frozenset(await self.call("prepare", devices=tuple(devices), tools=tuple(tools)))
        if left_out - self._reported:
            write_log(logging.WARNING, "voice.unsayable", names=sorted(left_out - self._reported))
            self._reported |= left_out

    async def hear_answer(self, audio: bytes) -> bool | None:
        if not _SHORTEST <= len(audio) <= _LONGEST_ANSWER:
            return None
        found = await self.call("answer", audio=audio)
        return read_answer(found["text"]) if found["margin"] >= _CERTAIN else None

    def _judge(self, found: Mapping[str, Any], restore: Callable[[str], str]) -> Transcript:
        return Transcript(restore(found["text"]), self.name, probability_of((found["margin"] - _EVEN) / _SPREAD))


def probability_of(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


_CERTAIN = -0.55  # nearly every yes of nine voices in two rooms was above this, every "less" below
# Of commands in two rooms nearly all were less far behind the best free text than this, all other sentences farther.
_EVEN_WITH_FREE, _SPREAD_WITH_FREE = -19.0, 2.5  # nats
_CLEAR_LEAD, _CLEAR_LEAD_OF_LOCKS = 1.0, 6.0  # nats before the next command; "lock" and "unlock" sound alike
_WORTH_ASKING = 6.0  # nats before the next command, which the person may have meant
_LOCKS = {"lock", "unlock", "locked", "unlocked", "open", "close"}
# Of PocketSphinx; the commands and the other sentences that we generated were equally far away.
_EVEN, _SPREAD = 0.1, 0.1  # nats for a hundredth of a second


def restore_names(text: str, names: Mapping[str, str]) -> str:
    """Write the name in a command as its owner writes it, the longest one that fits; with "the" in front of it."""
    # Whether "the" was said is as hard to hear as it is unimportant.
    for spoken in sorted(names, key=len, reverse=True):
        before, found, after = f" {text} ".partition(f" {spoken} ")
        if found:
            said = before.removesuffix(" the").split()
            return " ".join([*said, "the", names[spoken], *after.split()])
    return text
