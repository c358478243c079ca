"""The result of a tool: a value or a failure, with a message for the person and one for the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Self, TypedDict, TypeVar

from mcp_core.json_types import Json, JsonObject
from mcp_core.json_values import describe, encodable, to_json_value, write_json

T = TypeVar("T")


class TextBlock(TypedDict):
    """One block of content, as the protocol writes it."""

    type: str
    text: str


class ToolReply(TypedDict, total=False):
    """The answer to a tool call, as the protocol writes it; server libraries read it into their own type."""

    content: list[TextBlock]
    structuredContent: JsonObject
    isError: bool


def known(**facts: Json) -> JsonObject:
    """Return the facts that are known: those that are not None."""
    return {name: fact for name, fact in facts.items() if fact is not None}


def text_reply(text: str, *, is_error: bool) -> ToolReply:
    """Build a reply that is only text."""
    return {"content": [{"type": "text", "text": encodable(text)}], "isError": is_error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[T]):
    """The outcome of a tool; make one with `ok` or `failure`.

    `message` is meant for the person. `instruction` is meant for the agent only: what to do next, what to leave alone,
    which mode to change to. `error_type` is a short word that code can decide by.
    """

    success: bool
    value: T | None = None
    error: str | None = None
    error_type: str | None = None
    exception: BaseException | None = None
    message: str | None = None
    instruction: str | None = None

    @classmethod
    def ok(cls, value: T | None = None, *, message: str | None = None, instruction: str | None = None) -> Self:
        """Return the result of a tool that did what was asked."""
        return cls(success=True, value=value, message=message, instruction=instruction)

    @classmethod
    def failure(
        cls,
        error: str,
        error_type: str,
        *,
        exception: BaseException | None = None,
        message: str | None = None,
        instruction: str | None = None,
    ) -> Self:
        """Return the result of a tool that failed; `exception` is told by type and message, its traceback is not."""
        return cls(
            success=False,
            error=error,
            error_type=error_type,
            exception=exception,
            message=message,
            instruction=instruction,
        )

    def to_json(self) -> JsonObject:
        """Return the fields that are present, as plain JSON values; a success always has its value."""
        plain: JsonObject = {"success": self.success}
        if self.success:
            plain["value"] = to_json_value(self.value)
        for name in ("error", "error_type", "message", "instruction"):
            if (text := getattr(self, name)) is not None:
                plain[name] = to_json_value(text)
        if self.exception is not None:
            plain["exception_type"] = type(self.exception).__name__
            plain["exception_message"] = describe(self.exception)
        return plain

    def to_json_str(self) -> str:
        """Write the result as JSON, for a tool whose answer is text; valid whatever the value is."""
        return write_json(self.to_json())

    def to_mcp(self) -> ToolReply:
        """Write the result as the protocol does: its JSON as text and as structured content, failures marked."""
        plain = self.to_json()
        return {
            "content": [{"type": "text", "text": write_json(plain)}],
            "structuredContent": plain,
            "isError": not self.success,
        }
