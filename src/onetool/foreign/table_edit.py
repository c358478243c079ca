"""Tables put into TOML texts and taken out, and entries added to YAML texts, as if by hand: all else stays as it is.

Both formats have more corners than anybody thinks of, so nothing relies on having thought of them. The nodes of a YAML
text tell where to write; there are one or two places to try. What comes out is read again, and only a text that holds
everything that was there, and the new entries, is given back.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from mcp_core.json_types import Json, JsonObject, mapping_of
from onetool.foreign.json_edit import without
from ot.config.yaml_reader import read_yaml
from ot.errors import ConfigError

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
    return _checked(changed, _with(without(old, path), path, dict(table)))


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
    return _checked("".join(kept), without(old, path))


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


def _checked(changed: str, expected: Json) -> str:
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


_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")
_STEP = "  "

Entries = Mapping[str, object]


def add_entries(
    text: str, section: str, entries: Entries, *, file: Path, newline: str = "\n", private: bool = False
) -> str:
    """Return the text with entries added to a section, or to its root where `section` is empty; none may be there yet.

    Raises ConfigError where the text is no YAML, the section no mapping, or no place for the entries is safe.
    """
    read = read_yaml(text, file=file, private=private)
    old = {} if read is None else read
    inside = old.get(section) if section and isinstance(old, dict) else old
    if not isinstance(old, dict) or not (inside is None or isinstance(inside, dict)):
        raise ConfigError("is not a mapping", file=file, key=section or None)
    merged = {**(inside or {}), **entries}
    expected = {**old, section: merged} if section else merged
    for changed in _drafts(text, section, entries, newline):
        try:
            if read_yaml(changed, file=file, private=private) == expected:
                return changed
        except ConfigError:
            continue
    reason = "cannot be edited without changing something else"
    raise ConfigError(reason, file=file, key=section or None, fix="add the entries by hand")


def remove_entry(text: str, section: str, name: str, *, file: Path, private: bool = False) -> str:
    """Return the text without an entry of a section, or of its root where `section` is empty; raises ConfigError."""
    old = read_yaml(text, file=file, private=private)
    inside = mapping_of(mapping_of(old).get(section)) if section else mapping_of(old)
    kept = {key: value for key, value in inside.items() if key != name}
    expected = {**mapping_of(old), section: kept} if section else kept
    root: object = yaml.compose(text, Loader=yaml.SafeLoader)
    if section and isinstance(root, yaml.MappingNode):
        root = next((value for key, value in root.value if key.value == section), None)
    for changed in _without(text, root, name) if isinstance(root, yaml.MappingNode) else ():
        with suppress(ConfigError):
            if (read_yaml(changed, file=file, private=private) or {}) in (expected, {**expected, section: None}):
                return changed
    reason = "cannot be edited without changing something else"
    raise ConfigError(reason, file=file, key=section or None, fix="remove the entry by hand")


def _without(text: str, node: yaml.MappingNode, name: str) -> Iterator[str]:
    """Yield drafts without an entry of a mapping; a comment before the next entry stays."""
    number = next((n for n, (key, _) in enumerate(node.value) if key.value == name), None)
    if number is None:
        return
    key, value = node.value[number]
    last = number + 1 == len(node.value)
    if node.flow_style:
        begin = node.value[number - 1][1].end_mark.index if last and number else key.start_mark.index
        yield text[:begin] + text[value.end_mark.index if last else node.value[number + 1][0].start_mark.index :]
        return
    begin = _line_start(text, key.start_mark.index)
    end = node.end_mark.index if last else _line_start(text, node.value[number + 1][0].start_mark.index)
    yield text[:begin] + text[max(_content_end(text, end), begin) :]


def write_entries(entries: Entries, indent: str = "", newline: str = "\n") -> str:
    """Write entries as lines; an entry that is a mapping has a line for each of its keys."""
    lines = []
    for name, value in entries.items():
        if isinstance(value, dict) and value:
            lines.append(f"{indent}{_flow(name)}:{newline}")
            lines += [f"{indent}{_STEP}{_flow(key)}: {_flow(item)}{newline}" for key, item in value.items()]
        else:
            lines.append(f"{indent}{_flow(name)}: {_flow(value)}{newline}")
    return "".join(lines)


def _drafts(text: str, section: str, entries: Entries, newline: str) -> Iterator[str]:
    root: object = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        yield _append(text, _with_heading(section, entries, "", newline), newline)
        return
    keys = [key for key, _ in root.value]
    number = next((n for n, key in enumerate(keys) if section and key.value == section), None)
    if number is None:
        yield from _into(text, root, section, entries, len(text), newline)
        return
    key, value = root.value[number]
    end = _line_start(text, keys[number + 1].start_mark.index) if number + 1 < len(keys) else len(text)
    if isinstance(value, yaml.MappingNode) and (value.value or text[value.start_mark.index :][:1] == "{"):
        if not value.value:
            yield _below(text, value.start_mark.index, value.end_mark.index, key, entries, newline)
        yield from _into(text, value, "", entries, end, newline)
    else:
        yield _below(text, value.start_mark.index, value.end_mark.index, key, entries, newline)


def _into(text: str, node: yaml.MappingNode, section: str, entries: Entries, end: int, newline: str) -> Iterator[str]:
    """Yield drafts with entries behind those of a mapping; `end` is where something else begins."""
    if node.flow_style:
        closing = node.end_mark.index - 1
        members = _flow({section: entries} if section else entries)[1:-1]
        blank = text[:closing].rstrip(" ")
        yield f"{blank}, {members}{text[closing:]}"
        yield f"{text[:closing]}{members}{text[closing:]}"
        return
    body = _with_heading(section, entries, " " * node.value[0][0].start_mark.column, newline)
    for place in (_content_end(text, end), end):
        yield _append(text[:place], body, newline) + text[place:]


def _with_heading(section: str, entries: Entries, indent: str, newline: str) -> str:
    if not section:
        return write_entries(entries, indent, newline)
    return f"{indent}{_flow(section)}:{newline}{write_entries(entries, indent + _STEP, newline)}"


def _below(text: str, start: int, end: int, key: yaml.Node, entries: Entries, newline: str) -> str:
    """Return a draft with entries below a key that has no value, or one that says so."""
    body = write_entries(entries, " " * key.start_mark.column + _STEP, newline)
    before = text[:start].rstrip(" ")
    if start == end:  # nothing: its place may lie lines further down
        before, end = text[: key.end_mark.index], key.end_mark.index
    line, separator, rest = text[end:].partition("\n")
    return f"{before}{line}{separator or newline}{body}{rest}"


def _content_end(text: str, end: int) -> int:
    """Find the end of the last line before `end` that is neither blank nor a comment: those belong to what follows."""
    while end > 0:
        start = _line_start(text, end - 1)
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            return end
        end = start
    return end


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _append(text: str, body: str, newline: str) -> str:
    return text + ("" if not text or text.endswith("\n") else newline) + body


def _flow(value: object) -> str:
    """Write a value on one line; unquoted if it cannot be taken for something else."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        # A plain word that is read as a number, a date or the end of a document does not stand for itself.
        with suppress(yaml.YAMLError):
            if yaml.safe_load(f"[{value}]") == [value] and yaml.safe_load(value) == value:
                return value
    written = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in written)
