"""The answer of a run, as its caller gets it."""

from __future__ import annotations

from typing import Self

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from ot.text.output import Attached
from ot_kernel.values import Audio, Image, Resource, decode, encode


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and images, audio or resources beside it; `cut` if something is left out."""

    text: str
    is_error: bool = False
    attachments: tuple[Attached, ...] = ()
    cut: bool = False

    def encoded(self) -> Json:
        """Return its form for another process."""
        return encode([self.text, self.is_error, self.attachments])

    @classmethod
    def decoded(cls, said: Json) -> Self:
        """Read that form; raises ValueError."""
        match decode(said):
            case [str(text), bool(is_error), tuple(attachments)]:
                kept = tuple(item for item in attachments if isinstance(item, Image | Audio | Resource))
                return cls(text, is_error, kept)
        raise ValueError("not an answer")


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The value that `ot.wait` gives to code: the answer of a run, or how far it is while it is `running`.

    As the value of a run it is that run's own answer.
    """

    run: str
    running: bool
    is_error: bool
    text: str
    attachments: tuple[Attached, ...] = ()
