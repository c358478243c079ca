"""Values as a model reads them: texts as they are, everything else as JSON, up to a stated size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from ot.errors import ToolError
from ot.values import Audio, Image, Resource

LONGEST_INPUT = 400_000  # characters, which are about 100,000 tokens


def write_value(value: object, name: str) -> str:
    """Return a value as text; raises ToolError if it is too long, or cannot be written. `name` is the argument."""
    try:
        text = value if isinstance(value, str) else _as_json(value)
    except (RecursionError, ValueError) as error:
        raise ToolError(f"{name} is nested too deeply to be written as JSON") from error
    except _UnreadableError as error:
        raise ToolError(f"{name} contains {error}, which cannot be sent as text; convert it first") from error
    if len(text) > LONGEST_INPUT:
        raise ToolError(
            f"{name} has {len(text):,} characters; a model is sent at most {LONGEST_INPUT:,}. Cut it into pieces, have "
            "each answered with llm.map(items=pieces, prompt=...), and transform the answers"
        )
    if not text.strip():
        raise ToolError(f"{name} is empty")
    return text


class _UnreadableError(Exception):
    """A value that no text can stand for; the message says what it is."""


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except TypeError:  # a name that JSON cannot have
        return json.dumps(_with_names(value), ensure_ascii=False, default=_plain)


def _with_names(value: object) -> object:
    """Return a value whose objects have texts as names, as JSON wants them."""
    if isinstance(value, Mapping):
        return {str(name): _with_names(one) for name, one in value.items()}
    return [_with_names(one) for one in value] if isinstance(value, list | tuple) else value


def _plain(value: object) -> object:
    if isinstance(value, Image | Audio | Resource | bytes):
        raise _UnreadableError("bytes" if isinstance(value, bytes) else f"a value of the type {type(value).__name__}")
    return list(value) if isinstance(value, AbstractSet) else str(value)
