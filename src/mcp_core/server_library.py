"""The interface through which `ExtMcpToolDecorator` uses a server library without importing one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, Protocol

from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass
from mcp_core.result import ToolReply


class Answer(Enum):
    """The answer of the person behind the client."""

    YES = auto()
    NO = auto()
    NOBODY = auto()  # this client has no way to ask


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The client must ask and then call again; `reply`, in the library's own type, says so."""

    reply: object


class ServerLibrary(Protocol):
    """One server library; `mcp_official` has the one for the official SDK, and FastMCP reads the same types."""

    @property
    def context_type(self) -> object:
        """Return the annotation by which a tool function asks for the context of its call."""

    def find_arguments(self, context: Any) -> Mapping[str, Json] | None:
        """Return the arguments as the client sent them, None if the library does not say."""

    def build_reply(self, reply: ToolReply) -> object:
        """Return a finished answer in the library's own type."""

    def reply_type(self, value: object) -> object:
        """Return the annotation of a function that gives such answers; `value` is the type of the value in them."""

    async def ask(self, context: Any, question: str) -> Answer | Unanswered:
        """Ask the person behind the client, yes or no."""
