"""One member put into a JSON text, or taken out of it, as if by hand: all else stays where it is, comments too.

JSON is read with comments and trailing commas, as editors write it, and with the place of each value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

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


class Node(NamedTuple):
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
                self.start, rest = place, self._text[place:]
                if rest.startswith('"'):
                    raise self.error("a text that does not end on its line")
                comment = "a comment that does not end" if rest.startswith("/*") else ""
                raise self.error(comment or f"{rest[:1]!r} where a value is expected")
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


_REST_OF_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")
_TRAILING_COMMA = re.compile(r"(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*,")


def put_member(text: str, path: Sequence[str], value: Json, *, newline: str = "\n") -> str:
    """Return the text with `value` at `path`, replacing what is there; missing objects on the way are created.

    Raises JsoncError where the text is not JSON, or something on the way is not an object. What comes out is read again
    before it is given back, so that it cannot be anything else.
    """
    root = parse_jsonc(text)
    expected = _merged(root.value if root is not None else {}, path, value)
    if root is None:
        changed = text + ("" if not text or text.endswith("\n") else newline)
        changed += _write(_nested(path, value), "", "  ", newline) + newline
    else:
        node, unit = root, next(filter(None, (_indent_at(text, place) for _, place, _ in root.members)), "  ")
        for number, name in enumerate(path):
            inner = node.member(name)
            if inner is None:
                changed = _insert(text, node, name, _nested(path[number + 1 :], value), unit, newline)
                break
            node = inner
        else:
            written = _write(value, _indent_at(text, node.start), unit, newline)
            changed = text[: node.start] + written + text[node.end :]
    return _checked(changed, expected)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at `path`, wherever it stands twice too; unchanged where there is none.

    Undoes what `put_member` does to an object that has members. Raises JsoncError as that does.
    """
    root = parse_jsonc(text)
    expected = without(root.value if root is not None else None, path)
    changed = text
    while (found := _find(changed, path)) is not None:
        changed = _cut(changed, *found)
    return _checked(changed, expected)


def _checked(changed: str, expected: Json) -> str:
    result = parse_jsonc(changed)
    if (result.value if result is not None else None) != expected:
        raise JsoncError("it cannot be edited without changing something else", 1)
    return changed


def without(old: Json, path: Sequence[str]) -> Json:
    """Return a value without what is at a path in it."""
    if not isinstance(old, dict) or path[0] not in old:
        return old
    if len(path) == 1:
        return {name: value for name, value in old.items() if name != path[0]}
    return {**old, path[0]: without(old[path[0]], path[1:])}


def _find(text: str, path: Sequence[str]) -> tuple[Node, int] | None:
    """Return the object that holds a member, and the member's number in it."""
    node = parse_jsonc(text)
    for name in path[:-1]:
        node = node.member(name) if node is not None else None
    names = [name for name, _, _ in node.members] if node is not None else []
    return (node, names.index(path[-1])) if node is not None and path[-1] in names else None


def _cut(text: str, node: Node, number: int) -> str:
    _, start, value = node.members[number]
    comma = _TRAILING_COMMA.match(text, value.end)
    end = comma.end() if comma else value.end
    before = node.members[number - 1][2] if number else None
    if len(node.members) == 1 and not (text[node.start + 1 : start] + text[end : node.end - 1]).strip():
        return f"{text[: node.start]}{{}}{text[node.end :]}"
    lines = _whole_lines(text, start, end)
    if comma is None and before is not None:  # the comma in front is one too many then
        lone = _TRAILING_COMMA.match(text, before.end)
        place = lone.end() - 1 if lone else start
        if lines is None:
            return text[:place] + text[end:]
        return text[:place] + text[place + 1 : lines[0]] + text[lines[1] :]
    if lines is not None:
        return text[: lines[0]] + text[lines[1] :]
    return text[:start] + text[end:].lstrip(" \t")


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the lines of a place that has them for itself, with a comment behind it; None if it has not."""
    first = text.rfind("\n", 0, start) + 1
    rest = _REST_OF_LINE.match(text, end)
    last = rest.end() if rest else end
    last += text[last : last + 2] == "\r\n"
    return (first, last + 1) if not text[first:start].strip() and text[last : last + 1] == "\n" else None


def _merged(old: Json, path: Sequence[str], value: Json) -> Json:
    if not path:
        return value
    if not isinstance(old, dict):
        raise JsoncError(f"{path[0]!r} cannot be put into something that is not an object", 1)
    return {**old, path[0]: _merged(old.get(path[0], {}), path[1:], value)}


def _insert(text: str, node: Node, name: str, value: Json, unit: str, newline: str) -> str:
    if not node.members:
        indent = _indent_at(text, node.start)
        member = f"{json.dumps(name)}: {_write(value, indent + unit, unit, newline)}"
        inside = text[node.start + 1 : node.end - 1]
        after = inside if inside.strip() else ""
        body = f"{newline}{indent}{unit}{member}" + (after or f"{newline}{indent}")
        return f"{text[: node.start + 1]}{body}{text[node.end - 1 :]}"
    _, first, _ = node.members[0]
    _, _, last = node.members[-1]
    comma = _TRAILING_COMMA.match(text, last.end)
    end = comma.end() if comma else last.end
    on_own_line = not text[text.rfind("\n", 0, first) + 1 : first].strip()
    if not on_own_line:
        member = f"{json.dumps(name)}: {json.dumps(value)}"
        return f"{text[:end]}{'' if comma else ','} {member}{',' if comma else ''}{text[end:]}"
    indent = _indent_at(text, first)
    member = f"{newline}{indent}{json.dumps(name)}: {_write(value, indent, unit, newline)}{',' if comma else ''}"
    rest = _REST_OF_LINE.match(text, end)
    place = rest.end() if rest and text[rest.end() : rest.end() + 1] in ("\n", "\r") else end
    tail = text[end:place] + member + text[place:]
    if place == end and not text[end:].startswith(("\n", "\r")):
        tail = f"{member}{newline}{_indent_at(text, node.start)}" + text[end:].lstrip(" \t")
    return f"{text[:end]}{'' if comma else ','}{tail}"


def _nested(path: Sequence[str], value: Json) -> Json:
    for name in reversed(path):
        value = {name: value}
    return value


def _write(value: Json, indent: str, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent_at(text: str, place: int) -> str:
    """Return the blanks at the beginning of the line in which a place lies."""
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
