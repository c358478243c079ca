"""Arguments as a person is shown them: whole, or with the file that holds all of them, and nothing invisible.

Every value is JSON, one argument a line, and a text of several lines has a margin, so that no text can pass for
another argument or for the words of the question. What is no text is in marks that no text can have (`visible_text`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from hashlib import sha256
from json.encoder import encode_basestring
from typing import NamedTuple, cast

from mcp_core.visible_text import OPENING, visible

WHOLE = 4096  # characters of a call's arguments
BEGINNING = 300  # characters at least that are shown of a long one
MOST_SHOWN = 40  # arguments
MARGIN = "  | "
_LONG_LINE = 100  # characters of a list
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
Describe = Callable[[object], object]
"""Returns JSON for a value that has no form in it; its texts are in marks, or visible already."""


class ShownArguments(NamedTuple):
    text: str  # for the question
    whole: str = ""  # for a file, where that is not all of it


def show_arguments(arguments: Mapping[str, object], describe: Describe, *, room: int = WHOLE) -> ShownArguments:
    """Write arguments for a person's eyes, in `room` characters or not much more."""
    lines = {
        name if _NAME.fullmatch(name) else json.dumps(visible(name), ensure_ascii=False): _Shown(value, describe)
        for name, value in arguments.items()
    }
    whole = "\n".join(f"{name} = {shown.framed(shown.text)}" for name, shown in lines.items())
    if len(whole) <= room:
        return ShownArguments(whole)
    share = max(BEGINNING, room // len(lines))
    shown = [f"{_shorten(name, share)} = {value.beginning(share)}" for name, value in list(lines.items())[:MOST_SHOWN]]
    if len(lines) > MOST_SHOWN:
        shown.append(f"and {len(lines) - MOST_SHOWN} more")
    return ShownArguments("\n".join(shown), whole)


class _Shown:
    """One value: its visible text, in JSON unless it is a text of several lines."""

    def __init__(self, value: object, describe: Describe) -> None:
        self._count = len(value) if isinstance(value, list | tuple | dict | AbstractSet) else None
        self._is_block = False
        if isinstance(value, ShownRows):
            self._count = len(value.columns[0])
            self._sent, self.text = value.write(describe)
            return
        lines = visible(value, lines=True) if isinstance(value, str) else ""
        self._is_block = "\n" in lines
        self._sent = value if isinstance(value, str) and self._is_block else _as_json(value, describe)
        if self._is_block:
            self.text = lines
        elif isinstance(value, list | tuple) and value and len(self._sent) > _LONG_LINE:
            self.text = _by_line(_visible_line(item, _as_json(item, describe), describe) for item in value)
        else:
            self.text = _visible_line(value, self._sent, describe)

    def framed(self, text: str) -> str:
        if not self._is_block:
            return text
        lines = text.split("\n")
        return "\n".join([f"text of {len(lines)} lines:", *(f"{MARGIN}{line}" for line in lines)])

    def beginning(self, room: int) -> str:
        """Return its beginning and its end, with the size and the digest of all of it."""
        if len(self.text) <= room:
            return self.framed(self.text)
        items = "" if self._count is None else f"{self._count:,} items, "
        digest = sha256(self._sent.encode("utf-8", "surrogatepass")).hexdigest()
        size = f"({items}{len(self._sent):,} characters, sha256 {digest})"
        return f"{self.framed(_shorten(self.text, room))}\n  {size}"


def _shorten(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    end = room // 4
    return f"{text[: room - end]}⟨{len(text) - room} characters left out⟩{text[-end:]}"


def _as_json(value: object, describe: Describe) -> str:
    """Write a value as JSON; raises nothing, whatever it holds."""
    try:
        return json.dumps(value, ensure_ascii=False, default=describe)
    except (TypeError, ValueError, RecursionError):  # keys of another kind, a circle, a number without end
        return json.dumps(describe(value), ensure_ascii=False)


def _by_line(items: Iterable[str]) -> str:
    return "[\n  " + ",\n  ".join(items) + "\n]"


class ShownRows(NamedTuple):
    """Many rows, which are written by column: dicts with these names or, without names, lists."""

    names: Sequence[str] | None
    columns: Sequence[Sequence[object]]

    def write(self, describe: Describe) -> tuple[str, str]:
        """Return what JSON has for a list of them, and their visible text."""
        if self.names is None:
            line = f"[{', '.join(['%s'] * len(self.columns))}]"
        else:
            places = [f"{encode_basestring(name)}: ".replace("%", "%%") + "%s" for name in self.names]
            line = f"{{{', '.join(places)}}}"
        lines = [line % row for row in zip(*[_write_column(column, describe) for column in self.columns], strict=True)]
        plain = f"[{', '.join(lines)}]"
        if not _is_visible(plain):
            rows = (
                list(row) if self.names is None else dict(zip(self.names, row, strict=True))
                for row in zip(*self.columns, strict=True)
            )
            lines = [_visible_line(row, line, describe) for row, line in zip(rows, lines, strict=True)]
        return plain, _by_line(lines)


def _write_column(values: Sequence[object], describe: Describe) -> Iterable[str]:
    kinds = set(map(type, values))
    if kinds == {str}:
        return map(encode_basestring, cast("Sequence[str]", values))
    if kinds <= {int, float, bool, type(None)}:
        with suppress(ValueError):  # a number without end
            return json.dumps(values)[1:-1].split(", ")
    return [_as_json(value, describe) for value in values]


def _is_visible(plain: str) -> bool:
    return plain.isascii() and "\\" not in plain and visible(plain) == plain


def _visible_line(value: object, plain: str, describe: Describe) -> str:
    if _is_visible(plain) or (plain.startswith(f'"{OPENING}') and not isinstance(value, str)):
        return plain
    try:
        return _as_json(with_visible_texts(value), describe)
    except RecursionError:
        return json.dumps(describe(value), ensure_ascii=False)


def with_visible_texts(value: object) -> object:
    if isinstance(value, str):
        return visible(value, lines=True)
    if isinstance(value, list | tuple):
        return [with_visible_texts(item) for item in value]
    if isinstance(value, dict):
        keys = (visible(key, lines=True) if isinstance(key, str) else key for key in value)
        return dict(zip(keys, map(with_visible_texts, value.values()), strict=True))
    return value
