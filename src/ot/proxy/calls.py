"""Arguments of a call as plain JSON, the only thing that another server can read, and its answer as a value for code.

Structured content is the value. Otherwise each block of the answer becomes one: text stays text, or what its JSON says
where the server promises JSON; images, sounds and resources become values that a run hands on as such. One block is
the value itself, several are a list, none is None. Nothing that a server sends can make this fail: a block that is
not what it says it is stays the plain data that came.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from uuid import UUID

from mcp_core.json_types import Json, JsonObject
from mcp_core.quick_dataclass import dataclass
from ot.errors import ToolError
from ot.registry.open_results import KEY, is_wrapped
from ot.values import Arguments, ToolValue
from ot_kernel.values import Audio, Image, Resource

MAX_MESSAGE = 20_000  # characters of an error's text
_MAX_LEVELS = 100
_LONG = 1024 * 1024  # characters of text and data


@dataclass(frozen=True, slots=True)
class ResultForm:
    """The form that a tool's answers are known to have."""

    wrapped: bool = False  # structured content is `{"result": value}`, made by the server's library
    json_text: bool = False  # text is JSON


UNKNOWN_FORM = ResultForm()


def result_form(tool: Mapping[str, Json], *, json_text: bool = False) -> ResultForm:
    """Return the form of a tool's answers, going by its output schema; `json_text` is the server's setting."""
    schema = tool.get("outputSchema")
    return ResultForm(wrapped=is_wrapped(schema), json_text=json_text or isinstance(schema, dict))


def is_long(result: JsonObject) -> bool:
    """True for a result that takes noticeable time to read."""
    content = result.get("content")
    size = 0
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            for part in (block.get("text"), block.get("data")):
                if isinstance(part, str):
                    size += len(part)
    return size >= _LONG


def read_result(result: Json, form: ResultForm = UNKNOWN_FORM) -> ToolValue:
    """Return the value of a `tools/call` result, given as plain JSON; raises ToolError if it says that it failed."""
    # A long one (`is_long`) takes time, and should be read on a thread.
    if not isinstance(result, dict):
        raise ToolError("the server's answer is not a result")
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    structured = result.get("structuredContent")
    if result.get("isError") is True:
        raise ToolError(_read_message(blocks, structured))
    values: list[ToolValue] = []
    if structured is not None:
        # Text says the same once more, for clients that read nothing else.
        if form.wrapped and isinstance(structured, dict) and list(structured) == [KEY]:
            structured = structured[KEY]
        values = [structured]
        blocks = [block for block in blocks if not _is_text(block)]
    values += [_read_block(block, form) for block in blocks]
    return values[0] if len(values) == 1 else values or None


def _is_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"


def _read_message(blocks: list[Json], structured: Json) -> str:
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and _is_text(block))
    message = "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
    if not message and structured is not None:
        message = json.dumps(structured, ensure_ascii=False, default=str)
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}… (cut: {len(message):,} characters)"
    return message or "the tool reported an error without saying why"


def _read_block(block: Json, form: ResultForm) -> ToolValue:
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return block  # of a kind that we do not know
    try:
        return reader(block, form)
    except (AttributeError, LookupError, TypeError, ValueError):
        return block  # not what it says it is


def _read_text(block: JsonObject, form: ResultForm) -> ToolValue:
    text = _text(block["text"])
    if form.json_text and text.lstrip()[:1] in '{["-0123456789tfn':
        try:
            value: ToolValue = json.loads(text)
            return value
        except (ValueError, RecursionError):
            pass
    return text


def _read_resource(block: JsonObject, _: ResultForm) -> Resource:
    found = block["resource"]
    if not isinstance(found, dict):
        raise TypeError("not a resource")
    text, blob = found.get("text"), found.get("blob")
    return Resource(
        _text(found["uri"]),
        text=text if isinstance(text, str) else None,
        data=_decode(blob) if blob is not None else None,
        mime_type=_mime_type(found),
        name=_name(found),
    )


_READERS: dict[str, Callable[[JsonObject, ResultForm], ToolValue]] = {
    "text": _read_text,
    "image": lambda block, _: Image(_decode(block["data"]), _mime_type(block)),
    "audio": lambda block, _: Audio(_decode(block["data"]), _mime_type(block)),
    "resource": _read_resource,
    "resource_link": lambda block, _: Resource(_text(block["uri"]), mime_type=_mime_type(block), name=_name(block)),
}


def _decode(data: object) -> bytes:
    """Decode base64 that holds nothing else but line breaks: a lenient decoder would accept any text."""
    try:
        return base64.b64decode(_text(data).translate({ord("\r"): None, ord("\n"): None}), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _mime_type(found: JsonObject) -> str | None:
    kind = found.get("mimeType")
    return kind if isinstance(kind, str) else None


def _name(found: JsonObject) -> str | None:
    names = (found.get(key) for key in ("name", "title"))
    return next((name for name in names if isinstance(name, str) and name), None)


def plain_arguments(arguments: Arguments) -> JsonObject:
    """Convert arguments to JSON's own types; raises a ToolError that names one without a form there, and what to do."""
    return {
        name: value if value is None or isinstance(value, (str, int)) else _plain(value, name, 0)
        for name, value in arguments.items()
    }


def _plain(value: object, where: str, level: int) -> Json:
    if level > _MAX_LEVELS:
        raise ToolError(f"{where[:80]} is nested more than {_MAX_LEVELS} levels deep, or contains itself")
    match value:
        case None | bool() | str() | int():
            return value
        case float() | Decimal() | Fraction():
            return _number(value, where)
        case Mapping():
            return {_key(key, where): _plain(item, f"{where}[{key!r}]", level + 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(item, f"{where}[{number}]", level + 1) for number, item in enumerate(value)]
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | PathLike():
            return str(value)
    advice = "; give it as base64 text" if isinstance(value, (bytes, bytearray)) else ""
    raise ToolError(f"{where} is of type {type(value).__name__}, which JSON cannot represent{advice}")


def _number(value: float | Decimal | Fraction, where: str) -> float:
    """Convert a number, exactly where possible: a whole number stays one, however large."""
    if not math.isfinite(value):
        raise ToolError(f"{where} is {value}, which JSON cannot represent")
    if isinstance(value, float):
        return value
    return int(value) if value == int(value) else float(value)


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, (int, UUID, date)):
        return str(key)
    raise ToolError(f"a key of {where} is of type {type(key).__name__}; JSON keys are text")
