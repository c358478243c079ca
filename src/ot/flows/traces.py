"""Traces: what a value leaves in whatever is made of it, so that it is recognised there in another spelling.

A leaf leaves itself: letters and digits alone, in one case and one Unicode form, so that quoting, spaces and
punctuation do not count; a number also leaves its value, and a list all its items as one text. A longer text leaves in
addition what no dictionary has: rare words, tokens with digits, addresses and their parts, names of several words,
sentences. What is escaped or encoded also leaves the traces of what it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256

from ot.flows.known import Own, without_own
from ot.flows.letters import flatten, skeleton
from ot.flows.numbers import numbers_in
from ot.flows.texts import LONGEST_SHOWN, LONGEST_WHOLE, MOST_TEXT, SHORTEST, TextTraces
from ot.flows.words import rare_among
from ot.values import Audio, Image, ProjectPath, Resource, Rows

_MOST_NESTED = 100  # containers inside containers
_MOST_PIECES = 12  # leaves that may be pieces of one value
_LONGEST_PIECE = 64


class Traces(TextTraces):
    """The traces of values, each with the text that left it."""

    __slots__ = ("_done", "_keys", "_own", "_pieces")

    def __init__(self, *, came: bool, own: Own | None = None) -> None:
        super().__init__(came=came)
        self._own = own
        self._pieces: list[tuple[str, str]] = []  # the short leaves in order, and their skeletons
        self._done: dict[str, str] = {}  # the skeletons of short leaves, many of which occur again and again
        self._keys = set[str]()

    def add(self, value: object, depth: int = 0) -> str:
        if self.size > MOST_TEXT or depth > _MOST_NESTED:
            self.size += MOST_TEXT
            return ""
        kind = type(value)
        if kind is str:
            return self._add_leaf(str(value))
        if kind is bool or value is None:
            return ""
        if isinstance(value, int | float):
            return self._add_number(value)
        if isinstance(value, Mapping):
            parts = []
            for key, item in value.items():
                if (key := str(key)) not in self._keys:
                    self._keys.add(key)
                    self._add_key(key)
                parts.append(self.add(item, depth + 1))
            if not self.came:  # of what came, each part is known
                self._add_joined(parts, "")
            return ""
        if isinstance(value, list | tuple | AbstractSet):
            return self._add_items(value, depth)
        return self._add_special(value, depth)

    def add_piece(self, text: str) -> None:
        """Take a text into account that may be a piece of a value, and is known to carry nothing by itself."""
        if len(text) <= _LONGEST_PIECE and (whole := skeleton(text)):
            self._pieces.append((text, whole))

    def add_pieces(self) -> None:
        """Add what short leaves that were added one after the other are as one."""
        pieces = self._pieces[:_MOST_PIECES]
        for start in range(len(pieces) - 1):
            shown, whole = pieces[start]
            for text, piece in pieces[start + 1 :]:
                shown, whole = f"{shown} {text}", whole + piece
                self.found.setdefault(whole, shown)

    def _add_special(self, value: object, depth: int) -> str:
        match value:
            case Rows():
                return self.add(value.to_list(), depth)
            case bytes() | bytearray() | memoryview():
                return self._add_bytes(bytes(value))
            case Image() | Audio():
                return self._add_bytes(value.data)
            case Resource():
                for part in (value.uri, value.name, value.text, value.data):
                    self.add(part, depth + 1)
                return ""
            case str() | ProjectPath():
                return self._add_leaf(str(value))
        return self._add_leaf(repr(value))

    def _add_key(self, key: str) -> None:
        if key.isalpha() and key.isascii():  # mostly
            for token in rare_among([key.lower()]):
                self.found.setdefault(token, key)
            return
        flat = flatten(key)
        if tokens := flat.split():
            rare = rare_among(tokens)
            self.add_inner(key, flat, tokens, rare)
            self.add_rare(rare)

    def _add_items(self, items: list[object] | tuple[object, ...] | AbstractSet[object], depth: int) -> str:
        parts = [self.add(item, depth + 1) for item in items]
        if len(parts) <= 1:
            return parts[0] if parts else ""
        if len(parts) > SHORTEST and sum(map(len, parts)) <= SHORTEST * len(parts):  # signs, or codes of them
            texts = [str(item) for item in items if type(item) in (str, int)]
            if len(texts) == len(parts) and max(map(len, texts)) <= SHORTEST * 2:
                self.add_said(("".join(texts), " ".join(texts)))
        return self._add_joined(parts, ", ".join(map(str, items))[:LONGEST_SHOWN])

    def _add_joined(self, parts: Sequence[str], shown: str) -> str:
        parts = [part for part in parts if part]
        if len(parts) < 2 or sum(map(len, parts)) > LONGEST_WHOLE:
            return ""
        whole = "".join(parts)
        self.found.setdefault(whole, shown or " ".join(parts)[:LONGEST_SHOWN])
        self.add_rare([whole])
        return whole

    def _add_bytes(self, data: bytes) -> str:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        try:
            return self._add_leaf(data.decode(encoding))
        except UnicodeDecodeError:
            self.size += len(data)
            digest = sha256(data).hexdigest()
            self.found.setdefault(digest, f"{len(data):,} bytes")
            return digest

    def _add_number(self, value: float) -> str:
        text = repr(value)
        self.size += len(text)
        for number in numbers_in(text):
            self.found.setdefault(number, text)
        whole = skeleton(text)
        if not self.came:
            self._pieces.append((text, whole))
        return whole

    def _add_leaf(self, text: str) -> str:
        if (whole := self._done.get(text)) is None:
            whole = self.add_text(text if self._own is None else without_own(text[: MOST_TEXT + 1], self._own))
            if len(text) <= _LONGEST_PIECE:
                self._done[text] = whole
        if not self.came and whole and len(whole) <= _LONGEST_PIECE:
            self._pieces.append((text, whole))
        return whole
