"""The events of a spoken conversation, for whoever shows them."""

from __future__ import annotations

from mcp_core.quick_dataclass import dataclass
from ot.ai import Event
from ot_voice.ear import SpeechBegan, WakeWordHeard


@dataclass(frozen=True, slots=True)
class Heard:
    text: str
    engine: str
    confidence: float | None
    seconds: float  # that the engine took


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """There was speech without words."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Speech came faster than it could be answered; this is the oldest that was waiting."""

    seconds: float
    start: float


@dataclass(frozen=True, slots=True)
class Answering:
    event: Event


@dataclass(frozen=True, slots=True)
class Spoken:
    sentence: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody spoke, so the answer was stopped: its speech, and the AI client's reply."""


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    text: str  # what was answered


@dataclass(frozen=True, slots=True)
class Failed:
    """Something went wrong with one utterance; listening goes on. `part` is recognition, answer or speech."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Asking:
    question: str  # whether a call may be made, whole; a part of it is being read aloud


@dataclass(frozen=True, slots=True)
class Asked:
    """The question has been read, and what is said now is the answer."""


@dataclass(frozen=True, slots=True)
class Answered:
    agreed: bool  # silence and unclear words are a no


_OfAnswers = Answering | Spoken | Interrupted | AnswerEnded
_OfQuestions = Asking | Asked | Answered
VoiceEvent = SpeechBegan | WakeWordHeard | Heard | NotUnderstood | Dropped | Failed | _OfAnswers | _OfQuestions
