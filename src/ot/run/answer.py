"""The answer of a run, as its caller gets it."""

from __future__ import annotations

from mcp_core.quick_dataclass import dataclass
from ot.text.output import Attached


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, and images, audio or resources beside it; `cut` if something is left out."""

    text: str
    is_error: bool = False
    attachments: tuple[Attached, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """What `ot.wait` gives to code: the answer of a run, or how far it is while it is `running`.

    As the value of a run it is that run's own answer.
    """

    run: str
    running: bool
    is_error: bool
    text: str
    attachments: tuple[Attached, ...] = ()
