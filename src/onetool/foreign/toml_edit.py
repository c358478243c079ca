"""One table put into a TOML text, or taken out of it, as if by hand: all else stays where it is, comments too.

As with YAML, nothing relies on having thought of every corner: what comes out is read again, and only what holds
exactly what it should is given back.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence

from mcp_core.json_types import Json, JsonObject

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class TomlEditError(ValueError):
    """Text that is not TOML, or cannot be edited."""


def read_toml(text: str) -> JsonObject:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlEditError(str(error)) from None


def put_table(text: str, path: Sequence[str], table: Mapping[str, Json], *, newline: str = "\n") -> str:
    """Return the text with a table at its end, in place of the one that has this path."""
    old = read_toml(text)
    kept = remove_table(text, path)
    kept += "" if not kept or kept.endswith("\n") else newline
    written = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(name)} = {_value(item)}" for name, item in table.items())]
    changed = f"{kept}{newline if kept else ''}{newline.join(written)}{newline}"
    return _checked(changed, _with(_without(old, path), path, dict(table)))


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without a table and those below it; unchanged where there is none."""
    old = read_toml(text)
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        header = _header_of(line)
        if header is not None:
            inside = header[: len(path)] == list(path)
            is_last = all(each is None or each[: len(path)] == list(path) for each in map(_header_of, lines[number:]))
            if inside and is_last and kept and not kept[-1].strip():
                kept.pop()  # the blank line that set it off
        twice = not line.strip() and (not kept or not kept[-1].strip())
        if not inside or (_belongs_to_next(lines[number:], path) and not twice):
            kept.append(line)
    return _checked("".join(kept), _without(old, path))


def _belongs_to_next(lines: Sequence[str], path: Sequence[str]) -> bool:
    """True if only comments and blank lines are left here until a table begins that stays."""
    for line in lines:
        header = _header_of(line)
        if header is not None:
            return header[: len(path)] != list(path)
        if line.strip() and not line.lstrip().startswith("#"):
            return False
    return lines[0].lstrip().startswith("#")


def _header_of(line: str) -> list[str] | None:
    """Return the path of the table that a line begins, None if it begins none."""
    if not line.lstrip().startswith("["):
        return None
    try:
        found: Json = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(found, dict) and found:
        [(name, found)] = found.items()
        path.append(name)
    return path


def _with(old: Json, path: Sequence[str], value: Json) -> JsonObject:
    inside = old if isinstance(old, dict) else {}
    return {**inside, path[0]: _with(inside.get(path[0]), path[1:], value) if len(path) > 1 else value}


def _without(old: JsonObject, path: Sequence[str]) -> JsonObject:
    inside = old.get(path[0])
    rest = {name: value for name, value in old.items() if name != path[0]}
    if len(path) == 1 or not isinstance(inside, dict):
        return rest if len(path) == 1 else old
    left = _without(inside, path[1:])
    return {**rest, path[0]: left} if left else rest


def _checked(changed: str, expected: JsonObject) -> str:
    """Return the text if it holds what it should; tables that hold nothing do not count."""
    if _essence(read_toml(changed)) != _essence(expected):
        raise TomlEditError("it cannot be edited without changing something else")
    return changed


def _essence(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    inner = {name: _essence(item) for name, item in value.items()}
    return {name: item for name, item in inner.items() if item != {}}


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # but for this, texts of JSON are TOML's
