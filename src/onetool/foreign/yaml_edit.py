"""Entries added to a mapping of a YAML text as if by hand: no comment, key or blank of it is touched.

The nodes of the text tell where to write. YAML has more corners than anybody thinks of, so nothing relies on having
thought of them: there are one or two places to try, each result is read again, and only one that holds everything that
was there, and the new entries, is given back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from ot.config.yaml_reader import read_yaml
from ot.errors import ConfigError

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*")
_STEP = "  "

Entries = Mapping[str, object]


def add_entries(
    text: str, section: str, entries: Entries, *, file: Path, newline: str = "\n", private: bool = False
) -> str:
    """Return the text with entries added to a section, or to its root where `section` is empty; none may be there yet.

    Raises ConfigError where the text is no YAML, the section no mapping, or no place for the entries is safe.
    """
    old = read_yaml(text, file=file, private=private)
    expected = _merged({} if old is None else old, section, entries, file)
    for changed in _drafts(text, section, entries, newline):
        try:
            if read_yaml(changed, file=file, private=private) == expected:
                return changed
        except ConfigError:
            continue
    reason = "cannot be edited without changing something else"
    raise ConfigError(reason, file=file, key=section or None, fix="add the entries by hand")


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


def _merged(old: object, section: str, entries: Entries, file: Path) -> dict[object, object]:
    inside = old.get(section) if section and isinstance(old, dict) else old
    if not isinstance(old, dict) or not (inside is None or isinstance(inside, dict)):
        raise ConfigError("is not a mapping", file=file, key=section or None)
    merged = {**(inside or {}), **entries}
    return {**old, section: merged} if section else merged


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
    if isinstance(value, str) and _PLAIN.fullmatch(value) and _stands_for_itself(value):
        return value
    written = json.dumps(value, ensure_ascii=False)
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in written)


def _stands_for_itself(word: str) -> bool:
    """True if a plain word is read as that text, and not as a number, a date or the end of a document."""
    try:
        return bool(yaml.safe_load(f"[{word}]") == [word] and yaml.safe_load(word) == word)
    except yaml.YAMLError:
        return False
