"""Values as a model reads them, schemas of what is wanted, and answers held against them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError
from ot.execution.validation import find_problems
from ot.registry.schema_copy import TYPES
from ot.values import Audio, Image, Resource

_LONGEST = 20_000  # characters of a schema
_DEEPEST = 8  # as far as answers are checked
_WORDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"} | {name: name for name in TYPES}
_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
LONGEST_INPUT = 400_000  # characters, which are about 100,000 tokens


class AnswerMistakeError(Exception):
    """An answer that is no JSON, or does not fit; the message says why."""


def read_schema(schema: object) -> JsonObject:
    """Return a JSON Schema, from one or from the short form; raises ToolError if it is neither."""
    read = dict(schema) if isinstance(schema, Mapping) and _is_json_schema(schema) else _expand(schema, 0)
    try:
        size = len(json.dumps(read))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"schema is not JSON: {error}") from error
    if size > _LONGEST:
        raise ToolError(f"schema has {size:,} characters; the maximum is {_LONGEST:,}")
    return read


def read_answer(text: str, schema: JsonObject) -> Json:
    """Return the value in a model's answer; raises AnswerMistakeError if there is none, or if it does not fit."""
    for candidate in _candidates(text):
        try:
            value: Json = json.loads(candidate, strict=False, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            continue
        problems = find_problems(schema, value)
        if problems:
            raise AnswerMistakeError("; ".join(problems))
        return value
    raise AnswerMistakeError("the answer is not JSON, or is incomplete")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _candidates(text: str) -> Iterator[str]:
    """Yield what may be the JSON: the whole answer, what stands in a fence, from the first bracket to the last."""
    yield text
    yield from _FENCED.findall(text)
    for opening, closing in ("{}", "[]"):
        begin, end = text.find(opening), text.rfind(closing)
        if 0 <= begin < end:
            yield text[begin : end + 1]


def _is_json_schema(schema: Mapping[str, Json]) -> bool:
    """Tell it from an object of the short form, which may have fields of the same names."""
    types = schema.get("type")
    named = types if isinstance(types, list) else [types]
    fields = schema.get("properties")
    return (
        all(isinstance(name, str) and name in TYPES for name in named)
        or (isinstance(fields, Mapping) and all(isinstance(field, Mapping) for field in fields.values()))
        or any(isinstance(schema.get(name), list) for name in ("anyOf", "oneOf", "allOf", "enum"))
        or any(str(name).startswith("$") for name in schema)
    )


def _expand(form: object, depth: int) -> JsonObject:
    if depth > _DEEPEST:
        raise ToolError(f"schema is nested more than {_DEEPEST} deep")
    if isinstance(form, str):
        name = form.removesuffix("?").strip()
        if name != "any" and name not in _WORDS:
            raise _not_a_form(form)
        return {} if name == "any" else {"type": [_WORDS[name], "null"] if form.endswith("?") else _WORDS[name]}
    if isinstance(form, list) and len(form) == 1:
        return {"type": "array", "items": _expand(form[0], depth + 1)}
    if isinstance(form, Mapping) and form:
        fields: JsonObject = {str(name): _expand(inner, depth + 1) for name, inner in form.items()}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    raise _not_a_form(form)


def _not_a_form(form: object) -> ToolError:
    return ToolError(
        f"schema: {str(form)[:100]!r} is not a type. Write a JSON Schema, or str, int, float, bool or any (str? may be "
        'null), ["str"] for a list, {"name": "str"} for an object'
    )


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
