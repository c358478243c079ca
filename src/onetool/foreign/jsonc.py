"""JSON with comments and trailing commas, as editors write it: its values, and where in the text each one stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mcp_core.json_types import Json, JsonObject

MAX_LEVELS = 200

_TOKEN = re.compile(
    r"""(?P<trivia>(?:[\s]+|//[^\n]*|/\*[\s\S]*?\*/)+)
    |(?P<string>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")
    |(?P<mark>[{}\[\]:,])
    |(?P<word>[-+.\w]+)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_WORDS: JsonObject = {"true": True, "false": False, "null": None}


class JsoncError(ValueError):
    """Text that is not JSON; `line` is counted from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"{reason} (line {line})")
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class Node:
    """One value and its place, `text[start:end]`; an object has members, by name and place of the name."""

    value: Json
    start: int
    end: int
    members: tuple[tuple[str, int, Node], ...] = ()

    def member(self, name: str) -> Node | None:
        """Return the member of a name; the last one if the name stands twice."""
        return next((node for key, _, node in reversed(self.members) if key == name), None)


def parse_jsonc(text: str) -> Node | None:
    """Read the one value that the text holds, None if it is empty; raises JsoncError."""
    reader = _Reader(text)
    if not reader.kind:
        return None
    node = reader.value(0)
    if reader.kind:
        raise reader.error(f"{reader.token[:20]!r} after the end")
    return node


class _Reader:
    """Token by token; `kind` and `token` are the next one, an empty kind the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0
        self.kind, self.token, self.start, self.end = "", "", 0, 0
        self.advance()

    def advance(self) -> None:
        place = self._next
        while place < len(self._text):
            match = _TOKEN.match(self._text, place)
            if match is None:
                self.start = place
                raise self.error(_describe(self._text[place:]))
            place = match.end()
            if match.lastgroup != "trivia":
                self.kind, self.token = str(match.lastgroup), match[0]
                self.start, self.end = match.span()
                self._next = place
                return
        self.kind, self.token, self.start, self._next = "", "", len(self._text), place

    def error(self, reason: str) -> JsoncError:
        return JsoncError(reason, self._text.count("\n", 0, self.start) + 1)

    def value(self, level: int) -> Node:
        if level > MAX_LEVELS:
            raise self.error(f"nested more than {MAX_LEVELS} levels deep")
        if self.token == "{" and self.kind == "mark":
            return self._object(level)
        if self.token == "[" and self.kind == "mark":
            return self._array(level)
        node = Node(self._scalar(), self.start, self.end)
        self.advance()
        return node

    def _scalar(self) -> Json:
        if self.kind == "string":
            try:
                text: str = json.loads(self.token)
            except ValueError:
                raise self.error("invalid \\ escape in a string") from None
            return text
        if self.kind == "word" and self.token in _WORDS:
            return _WORDS[self.token]
        if self.kind == "word" and _NUMBER.fullmatch(self.token) and len(self.token) < 1000:
            number: float = json.loads(self.token)
            return number
        raise self.error(f"{self.token[:20]!r} where a value is expected" if self.kind else "it ends too early")

    def _object(self, level: int) -> Node:
        start = self.start
        self.advance()
        members: list[tuple[str, int, Node]] = []
        while self.token != "}" or self.kind != "mark":
            if self.kind != "string":
                raise self.error(f"{self.token[:20]!r} where a name is expected" if self.kind else "it ends too early")
            name, place = str(self._scalar()), self.start
            self.advance()
            if self.kind != "mark" or self.token != ":":
                raise self.error("a : is missing")
            self.advance()
            members.append((name, place, self.value(level + 1)))
            self._separate("}")
        node = Node({name: item.value for name, _, item in members}, start, self.end, tuple(members))
        self.advance()
        return node

    def _array(self, level: int) -> Node:
        start = self.start
        self.advance()
        items: list[Json] = []
        while self.token != "]" or self.kind != "mark":
            items.append(self.value(level + 1).value)
            self._separate("]")
        node = Node(items, start, self.end)
        self.advance()
        return node

    def _separate(self, closing: str) -> None:
        if self.kind == "mark" and self.token == ",":
            self.advance()
        elif self.kind != "mark" or self.token != closing:
            raise self.error("a comma is missing" if self.kind else "it ends too early")


def _describe(rest: str) -> str:
    if rest.startswith('"'):
        return "a text that does not end on its line"
    return "a comment that does not end" if rest.startswith("/*") else f"{rest[:1]!r} where a value is expected"
