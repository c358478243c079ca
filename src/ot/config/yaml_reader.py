"""Reads YAML text into plain values, safely even when the text is hostile.

PyYAML's parser gives events; its composer is not used, because the C one overflows the stack on deep nesting, and
neither bounds what aliases expand to nor reports a key that stands twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

import yaml

from ot.config.keys import dotted, printable
from ot.errors import ConfigError

MAX_DEPTH = 50
MAX_EXPANDED = 4_000_000  # characters, and a few for each value, with aliases counted as often as they are used
_COST_OF_A_VALUE = 8
_COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_TEXT_TAG = "tag:yaml.org,2002:str"
_SCALAR_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "binary", "timestamp")}
_MERGE = object()
_OPEN = object()
_Event: TypeAlias = yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent


class _Parser(Protocol):
    """The part of a PyYAML loader that is used here, in C or in Python."""

    def get_event(self) -> _Event: ...
    def check_event(self, *choices: type[yaml.Event]) -> bool: ...
    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str: ...
    def construct_object(self, node: yaml.Node) -> object: ...


_Loader: Callable[[str], _Parser] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, *, file: Path, private: bool) -> object:
    """Return the one value in `text`, None if it is empty; a mistake in a `private` file does not quote it."""
    reader = _Reader(text, file, private=private)
    try:
        return reader.read()
    except yaml.YAMLError as exc:
        raise reader.syntax_error(exc, text) from None


class _Reader:
    def __init__(self, text: str, file: Path, *, private: bool) -> None:
        self._text = text
        self._loader: _Parser
        self._file = file
        self._private = private
        self._path: list[str] = []
        self._finished: list[str] = []
        self._cost = 0
        self._anchors: dict[str | None, tuple[object, int]] = {}  # value, and what it costs to use it again

    def read(self) -> object:
        self._loader = _Loader(self._text)  # here, because it already looks for characters that YAML forbids
        self._loader.get_event()
        if self._loader.check_event(yaml.StreamEndEvent):
            return None
        self._loader.get_event()
        value = self._value(self._loader.get_event())
        self._loader.get_event()
        if not self._loader.check_event(yaml.StreamEndEvent):
            raise self._mistake("contains more than one document", fix='remove the line "---" between them')
        return value

    def _value(self, event: _Event) -> object:
        if isinstance(event, yaml.AliasEvent):
            name = "" if self._private else f" *{event.anchor}"
            value, cost = self._anchors.get(event.anchor, (None, 0))
            if value is _OPEN:
                raise self._mistake(f"the alias{name} is inside the value it refers to", fix="write the value out")
            if event.anchor not in self._anchors:
                fix = "put a text that begins with * in quotes"
                raise self._mistake(f"the alias{name} refers to no anchor", fix=fix)
            self._spend(cost)
            return value
        before = self._cost
        if event.anchor:
            self._anchors[event.anchor] = (_OPEN, 0)
        self._spend(_COST_OF_A_VALUE)
        value = self._scalar(event) if isinstance(event, yaml.ScalarEvent) else self._collection(event)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._cost - before)
        return value

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        self._spend(len(event.value))
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag == _TEXT_TAG or event.value == "<<":
            return event.value
        try:
            if tag in _SCALAR_TAGS:
                return self._loader.construct_object(yaml.ScalarNode(tag, event.value))
        except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, OverflowError):
            pass  # PyYAML lets the errors of int(), date() and re.match() through
        kind = "" if self._private else f" as {tag.removeprefix('tag:yaml.org,2002:')}"
        raise self._mistake(f"the value cannot be read{kind}", fix="put it in quotes")

    def _collection(self, event: yaml.CollectionStartEvent) -> object:
        if event.tag not in _COLLECTION_TAGS:
            raise self._mistake("unknown tag", fix="remove the word that begins with !")
        if len(self._path) >= MAX_DEPTH:
            raise self._mistake(f"is nested more than {MAX_DEPTH} levels deep", fix="make it flatter")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping()
        values: list[object] = []
        while not self._loader.check_event(yaml.SequenceEndEvent):
            self._path.append(str(len(values)))
            values.append(self._value(self._loader.get_event()))
            self._path.pop()
        self._loader.get_event()
        return values

    def _mapping(self) -> dict[object, object]:
        own: dict[object, object] = {}
        lines: dict[object, int] = {}
        merged: dict[object, object] = {}
        while not self._loader.check_event(yaml.MappingEndEvent):
            event = self._loader.get_event()
            key = self._key(event)
            line = _line_of(event)
            self._path.append("<<" if key is _MERGE else str(key))
            if key in lines:
                raise self._mistake(f"occurs twice (lines {lines[key]} and {line})", fix="keep one of the two")
            lines[key] = line
            value = self._value(self._loader.get_event())
            if key is _MERGE:
                sources = value if isinstance(value, list) else [value]
                if not all(isinstance(source, dict) for source in sources):
                    raise self._mistake("only mappings can be merged", fix="name an anchor of a mapping after <<:")
                for source in reversed(sources):
                    merged.update(source)
            else:
                own[key] = value
            self._finished = [*self._path]
            self._path.pop()
        self._loader.get_event()
        return {**merged, **own}

    def _key(self, event: _Event) -> object:
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            return _MERGE
        key = self._value(event) if isinstance(event, yaml.ScalarEvent | yaml.AliasEvent) else event
        if isinstance(key, list | dict | yaml.Event):
            reason = f"there is a list or mapping where a key is expected (line {_line_of(event)})"
            raise self._mistake(reason, fix="put a text that begins with { or [ in quotes")
        return key

    def _spend(self, cost: int) -> None:
        self._cost += cost
        if self._cost > MAX_EXPANDED:
            reason = "its aliases expand to more data than a configuration may hold"
            raise self._mistake(reason, fix="use fewer aliases")

    def _mistake(self, reason: str, *, fix: str) -> ConfigError:
        return ConfigError(printable(reason), file=self._file, key=dotted(self._path), fix=fix)

    def syntax_error(self, exc: yaml.YAMLError, text: str) -> ConfigError:
        """Word an error of PyYAML's parser in one line, with the key in which or after which it occurs."""
        self._path = self._path or self._finished
        if not isinstance(exc, yaml.MarkedYAMLError) or exc.problem_mark is None:
            line = text.count("\n", 0, getattr(exc, "position", 0)) + 1
            return self._mistake(f"contains a control character (line {line})", fix="remove it")
        line = exc.problem_mark.line + 1
        problem = "" if self._private else f": {exc.problem}"
        begun = exc.context_mark.line + 1 if exc.context_mark else line
        place = f"line {line}" if begun == line else f"line {line}, in what begins on line {begun}"
        return self._mistake(f"is not valid YAML{problem} ({place})", fix=_fix_for(exc, text))


def _line_of(event: _Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _fix_for(exc: yaml.MarkedYAMLError, text: str) -> str:
    lines = text.splitlines()
    mark = exc.problem_mark
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    if line[: len(line) - len(line.lstrip())].count("\t"):
        return "indent with spaces, not with tabs"
    if mark and line[mark.column : mark.column + 1] in {"@", "`", "%"}:
        return f'put a text that begins with {line[mark.column]} in quotes: "{line[mark.column]}..."'
    return "check the indentation, the colons and the quotes there"
