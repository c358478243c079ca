"""Values that are no text, as a person is shown them: with type, size and digest, and the file that holds them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from hashlib import sha256

from mcp_core.shown_arguments import ShownRows, with_visible_texts
from mcp_core.visible_text import visible
from ot.tasks.large_values import FileValue
from ot.values import MANY, OpaqueValue, Resource, Rows, by_column
from ot_kernel import values

_MOST_BYTES = 100  # that are shown as they are

Keep = Callable[[bytes], str]
"""Puts bytes into a file while the question is open, and returns its place."""


def as_shown(value: object) -> object:
    """Return many rows as they are shown by column, few of them as a list, and any other argument as it is."""
    rows = by_column(value.to_list() if isinstance(value, Rows) and len(value) < MANY else value)
    return ShownRows(rows.names, rows.unpacked()) if isinstance(rows, Rows) else rows


def describe(keep: Keep, value: object) -> object:
    """Write what JSON has no form for."""
    match value:
        case Rows():
            return with_visible_texts(value.to_list())
        case AbstractSet():
            return {"⟨set⟩": with_visible_texts(list(value))}
        case bytes() | bytearray() | memoryview():
            return _show_bytes(bytes(value), keep)
        case values.Attachment():
            return {f"⟨{type(value).__name__}⟩": visible(value.mime_type), "data": _show_bytes(value.data, keep)}
        case Resource():
            content = value.data if value.text is None else value.text.encode("utf-8", "surrogatepass")
            found = {"⟨Resource⟩": value.uri, "name": value.name, "type": value.mime_type}
            named = {name: visible(text) for name, text in found.items() if text is not None}
            return named if content is None else {**named, "content": _show_bytes(content, keep)}
        case FileValue():
            return {"⟨stored value⟩": with_visible_texts(value.read())}
        case OpaqueValue():
            return f"⟨{type(value).__name__}: {visible(repr(value))}⟩"
        case dict() | list() | tuple() | int():  # with keys or numbers that JSON does not have
            return f"⟨value {_encode(value)}⟩"
    return f"⟨{visible(repr(value))}⟩"


def _encode(value: object) -> str:
    try:
        return values.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return f"of the type {type(value).__name__}, which cannot be shown"


def _show_bytes(data: bytes, keep: Keep) -> str:
    if len(data) <= _MOST_BYTES:
        return f"⟨{len(data)} bytes: {data!r}⟩"
    return f"⟨{len(data):,} bytes, sha256 {sha256(data).hexdigest()}, held in {visible(keep(data))}⟩"
