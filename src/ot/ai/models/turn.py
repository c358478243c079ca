"""One turn of the model, put together from its pieces as they come."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_core.quick_dataclass import dataclass, field
from ot.ai.conversation.messages import AssistantMessage, Opaque, Part, Text, ToolCall
from ot.ai.models.model import Piece, Spent, Stopped

MOST_CALLS = 64  # of one turn; more is a model that has lost its way

_SOUND_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ODD = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(slots=True)
class Turn:
    """A turn as far as it has arrived."""

    spent: Spent | None = None
    stopped: Stopped | None = None
    _parts: list[Part] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)

    def add(self, piece: Piece) -> None:
        match piece:
            case Text():
                self._words.append(piece.text)
            case Spent():
                self.spent = piece
            case Stopped():
                self.stopped = piece
            case ToolCall() | Opaque():
                self._join_words()
                self._parts.append(piece)

    @property
    def text(self) -> str:
        return "".join([*(part.text for part in self._parts if isinstance(part, Text)), *self._words])

    @property
    def complete(self) -> bool:
        """True if the model said that the turn is complete."""
        return self.stopped is not None

    def message(self) -> AssistantMessage:
        self._join_words()
        return AssistantMessage(tuple(self._parts))

    def _join_words(self) -> None:
        if self._words:
            self._parts.append(Text("".join(self._words)))
            self._words.clear()


class CallNames:
    """Gives every call of a conversation an id of its own, whatever the model wrote there."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._count = 0

    def know(self, ids: Iterable[str]) -> None:
        """Give none of these ids again."""
        self._used.update(ids)

    def sound(self, message: AssistantMessage) -> AssistantMessage:
        """Return the turn with calls that any provider accepts: unique ids, legal names, and not too many of them."""
        parts: list[Part] = []
        calls = 0
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls += 1
                if calls > MOST_CALLS:
                    continue
                name = _ODD.sub("_", part.name)[:64] or "unnamed"
                part = ToolCall(self._id_of(part), name, part.arguments, part.problem)  # noqa: PLW2901
            parts.append(part)
        return AssistantMessage(tuple(parts))

    def _id_of(self, call: ToolCall) -> str:
        wanted = call.id
        while not _SOUND_ID.fullmatch(wanted) or wanted in self._used:
            self._count += 1
            wanted = f"call_{self._count}"
        self._used.add(wanted)
        return wanted
