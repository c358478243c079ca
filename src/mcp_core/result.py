"""The result of a tool: a value, or a failure in words, with a message for the person and one for the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Generic, NamedTuple, NotRequired, ParamSpec, Self, TypeAlias, TypedDict, TypeVar

from mcp_core.json_types import JsonObject
from mcp_core.json_values import describe, encodable, to_json_value, write_json
from mcp_core.quick_dataclass import dataclass

T = TypeVar("T")
_FOR_PROGRAMS = ("error_type", "exception_type", "exception_message")
_READERS = {"message": "user", "instruction": "assistant"}
WRAPPED = "result"
"""The key under which server libraries put a value that is no object: structured content is always one."""


class TextBlock(TypedDict):
    type: str
    text: str
    annotations: NotRequired[JsonObject]


class ToolReply(TypedDict, total=False):
    """The answer to a tool call, as the protocol writes it; server libraries read it into their own type."""

    content: list[TextBlock]
    structuredContent: JsonObject
    isError: bool
    _meta: JsonObject


def text_reply(text: str, *, is_error: bool) -> ToolReply:
    return {"content": [_block(text)], "isError": is_error}


def _block(text: str, *audience: str) -> TextBlock:
    block: TextBlock = {"type": "text", "text": encodable(text)}
    if audience:
        block["annotations"] = {"audience": list(audience)}
    return block


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
        """Return the result of a tool that failed; `exception` is reported without its traceback."""
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
        """Write the result as the protocol does.

        A success is its value, as structured content and as text. A failure is its sentence, marked as an error;
        its words for programs are metadata, since structured content has the schema of the value. The message for
        the person and the instruction for the agent follow in blocks of their own.
        """
        plain = self.to_json()
        told = [_block(str(plain[name]), reader) for name, reader in _READERS.items() if plain.get(name)]
        if not self.success:
            words = {name: plain[name] for name in _FOR_PROGRAMS if name in plain}
            return {"content": [_block(str(plain["error"])), *told], "isError": True, "_meta": words}
        value = plain["value"]
        text = value if isinstance(value, str) else write_json(value)
        structured: JsonObject = value if isinstance(value, dict) else {WRAPPED: value}
        return {"content": [_block(text), *told], "structuredContent": structured, "isError": False}


_QUOTED = re.compile(r"`(\w+)`")


def with_final_names(text: str, names: Mapping[str, str]) -> str:
    """Return a sentence with the names that clients know; `names` maps each tool to its final name."""
    return _QUOTED.sub(lambda found: f"`{names.get(found[1], found[1])}`", text)


P = ParamSpec("P")
E = TypeVar("E", bound=Exception)
Work: TypeAlias = Callable[P, Awaitable[Result[T]]]
_SHOWN = 100  # characters of a name


class Report(NamedTuple):
    text: str
    kind: str
    instruction: str | None = None


def answer_in_words(
    errors: type[E] | tuple[type[E], ...], word: Callable[[E], Report]
) -> Callable[[Work[P, T]], Work[P, T]]:
    """Build a decorator for the tools of a server: these errors, when raised, become failures in words."""

    def decorate(work: Work[P, T]) -> Work[P, T]:
        @wraps(work)
        async def answer(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
            try:
                return await work(*args, **kwargs)
            except errors as error:
                text, kind, instruction = word(error)
                return Result.failure(text, kind, instruction=instruction)

        return answer

    return decorate


def quote_name(name: str) -> str:
    """Put any name on one line, cut if it is long."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
