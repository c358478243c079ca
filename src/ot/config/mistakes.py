"""Turns validation errors of pydantic into ConfigErrors that name the file, the key and the fix."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ot.config.entries import Mistakes
from ot.config.keys import Key, dotted, matches, suggest, words_of
from ot.config.layers import Layer
from ot.config.values import INCOMPLETE, MISTAKE
from ot.errors import ConfigError

UNFINISHED = frozenset({"missing", INCOMPLETE})
"""Kinds of errors that a layer farther away may put right."""

_NOT_ABOUT_A_VALUE = frozenset({"extra_forbidden", "invalid_key", MISTAKE, *UNFINISHED})
_NEVER_QUOTED = frozenset({"servers", "packs"})
_IN_WORDS = {
    "missing": ("is missing", "add it"),
    "string_type": ("must be text", "put it in quotes"),
    "string_unicode": ("must be text in UTF-8", "remove what is not"),
    "invalid_key": ("a key must be text", "put it in quotes"),
    "tuple_type": ("must be a list", "write it as [one, two]"),
    "dict_type": ("must hold keys of its own", 'write "key: value" lines below it'),
    "model_type": ("must hold keys of its own", 'write "key: value" lines below it'),
    "bool_type": ("must be true or false", "write true or false"),
    "bool_parsing": ("must be true or false", "write true or false"),
    "finite_number": ("must be a finite number", "write a number"),
    "int_from_float": ("must be a whole number", "write a whole number"),
}


def explain(
    error: ValidationError,
    layers: Sequence[Layer],
    mistakes: Mistakes,
    *,
    keys: Sequence[Key],
    leave_out: Collection[str] = (),
) -> None:
    """Add each mistake, with the nearest layer that has its key, but for the kinds to `leave_out`.

    Where the first one is raised, it says how many more there are.
    """
    found = [item for item in error.errors(include_url=False, include_input=False) if item["type"] not in leave_out]
    for details in found:
        path = tuple(str(part) for part in details["loc"] if part != "[key]")
        more = 0 if mistakes.tolerant else len(found) - 1
        mistake = _explain(details, path, layers, keys=keys, more=more)
        mistakes.add(path if mistake.file is not None else (), mistake)  # a variable is meant for all that it starts


def _explain(
    details: ErrorDetails, path: tuple[str, ...], layers: Sequence[Layer], *, keys: Sequence[Key], more: int
) -> ConfigError:
    layer = max(layers, key=lambda candidate: _depth(candidate.values, path))
    path = _as_written(details, layer, path)
    reason, fix = _word(details, path, keys)
    if details["type"] not in _NOT_ABOUT_A_VALUE and (words := words_of(path, keys)):
        fix += f" ({words})"
    reason += _quoted(details, layer, path)
    if more:
        reason += f" (and {more} more)"
    if isinstance(layer.source, str):
        return ConfigError(reason, key=layer.source, fix=fix)
    return ConfigError(reason, file=layer.source, key=dotted(path[layer.unwritten :]), fix=fix)


def _word(details: ErrorDetails, path: tuple[str, ...], keys: Sequence[Key]) -> tuple[str, str]:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind in (MISTAKE, INCOMPLETE):
        return str(context["reason"]), str(context["fix"])
    if kind == "extra_forbidden":
        return "unknown key", suggest(path[-1], path[:-1], keys)
    if kind == "literal_error":
        return f"must be {context['expected']}", "write one of these words"
    if kind in _IN_WORDS:
        return _IN_WORDS[kind]
    if kind.startswith(("float_", "int_")):
        return "must be a number", f"write a number{_example(path, keys)}"
    reason = details["msg"].replace("Input should be", "must be", 1)
    return reason, f"write another value{_example(path, keys)}"


def _example(path: tuple[str, ...], keys: Sequence[Key]) -> str:
    defaults = [key.default for key in keys if matches(key.path, path)]
    return f", for example {defaults[0]}" if defaults and defaults[0] is not None else ""


def _quoted(details: ErrorDetails, layer: Layer, path: tuple[str, ...]) -> str:
    """Quote what the person wrote there, if it is a single value that cannot be a secret."""
    if details["type"] in _NOT_ABOUT_A_VALUE or details["loc"][-1] == "[key]" or path[0] in _NEVER_QUOTED:
        return ""
    value = _value_at(layer.written, path[layer.unwritten :])
    if value is None or isinstance(value, dict | list):
        return ""
    text = dotted([value]) or '""'
    return f", not {text[:40]}"


def _as_written(details: ErrorDetails, layer: Layer, path: tuple[str, ...]) -> tuple[str, ...]:
    """Return `path` with a key that is not text as YAML reads it: True for `on`, where pydantic says 1."""
    if details["type"] != "invalid_key" and (details["type"], details["loc"][-1]) != ("string_type", "[key]"):
        return path
    found = _value_at(layer.values, path[:-1])
    keys = found if isinstance(found, dict) else {}
    return (*path[:-1], *[str(key) for key in keys if not isinstance(key, str)][:1])


def _value_at(values: object, path: Sequence[str]) -> object:
    for part in path:
        values = _item(values, part)
    return values


def _depth(values: Mapping[object, object], path: Sequence[str]) -> int:
    """Return how many parts of `path` are in `values`."""
    value: object = values
    for depth, part in enumerate(path):
        value = _item(value, part)
        if value is None:
            return depth
    return len(path)


def _item(value: object, part: str) -> object:
    if isinstance(value, dict):
        return next((item for key, item in value.items() if str(key) == part), None)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None
