"""Traces: what a value leaves in whatever is made of it, so that it is recognised there in another spelling.

A leaf leaves itself: letters and digits alone, in one case and one Unicode form, so that quoting, spaces and
punctuation do not count; a number also leaves its value, and a list all its items as one text. A longer text leaves in
addition what no dictionary has: rare words, tokens with digits, addresses and their parts, names of several words,
sentences. What is escaped, percent-encoded or in base64 also leaves the traces of what it stands for.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from hashlib import sha256
from urllib.parse import unquote

from ot.flows.words import rare_among
from ot.values import Audio, Image, ProjectPath, Resource, Rows

MOST_TEXT = 4 * 1024 * 1024  # characters of one value
_LONGEST_WHOLE = 20_000  # characters of a text that is compared as a whole
_LONGEST_SHOWN = 200
_SENTENCE = 4  # ordinary words that make a segment worth remembering
_SHORTEST = 3  # letters or digits of a trace inside a longer text
_MOST_DEPTH = 2  # of encodings inside encodings
_MOST_NESTED = 100  # containers inside containers

_BEFORE = frozenset({"https", "http", "ftp", "mailto", "tel", "www"})  # tokens that an address may begin with
_DELIMITERS = dict.fromkeys(map(ord, ",;|<>\"'`()[]{}\\"), " ")
_AROUND = ".:!?*_-/=&#%+~"  # signs around a chunk that are no part of it
_OF_ADDRESSES = frozenset("@._/:")
_PART = re.compile(r"[^@/?&=#:]+")
_SPECIAL = re.compile(r"[\d@_/=&#%+]|[.:?-]\w")  # what digits and addresses have, and plain prose has not
_DIGIT_RUN = re.compile(r"\d\w*(?:[ ./()-]{1,3}[^\W\d_]{0,4}\d\w*)+")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)+")
_NAMES = re.compile(r"[A-Z][a-z]+(?:[ -][A-Z][a-z]+){1,3}")
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{3,400})[\"'`]")
_LABELLED = re.compile(r"^[ \t]*(?:[-*][ \t]+)?[\w .-]{0,40}[:=][ \t]+(\S.*)$|^[ \t]*[-*][ \t]+(.+)$", re.MULTILINE)
_ITEM = re.compile(r"[^,;|\t\n\r]+")
_NUMBER = re.compile(r"\d[\d.,]*(?:[eE][-+]?\d{1,3})?")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY = re.compile(r"&#?\w{2,8};")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf])|(.))")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_OWN = re.compile(r"[^\s,;<>\"'`()]+")

Own = Callable[[str], bool]
"""True for a text that belongs to the person, and is no trace of anybody else."""


class _Letters(dict[int, str]):
    """Each character in one case; what is neither letter nor digit as a blank, and marks on letters as nothing."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character.isalnum():
            flat = character.casefold()
        elif unicodedata.category(character) in ("Mn", "Cf"):
            flat = ""
        else:
            flat = "\n" if character in "\n\r" else " "
        self[code] = flat
        return flat


_LETTERS = _Letters()


def flatten(text: str) -> str:
    """Return a text with letters and digits in one case and one Unicode form, and blanks for everything else."""
    return (text if text.isascii() else unicodedata.normalize("NFKD", text)).translate(_LETTERS)


def skeleton(text: str) -> str:
    """Return nothing but the letters and digits, without what addresses begin with."""
    return _join(flatten(text).split())


def _join(tokens: list[str]) -> str:
    while len(tokens) > 1 and tokens[0] in _BEFORE:
        tokens = tokens[1:]
    return "".join(tokens)


class Traces:
    """The traces of one value, each with the text that left it."""

    __slots__ = ("_came", "_own", "found", "size")

    def __init__(self, *, came: bool, own: Own | None = None) -> None:
        """`came` for what a call brought, else for what is given to one, whose texts may be lists of items."""
        self.found: dict[str, str] = {}
        self.size = 0  # characters that were looked at
        self._came = came
        self._own = own

    @property
    def cut(self) -> bool:
        """True if the value was too large to be looked at as a whole."""
        return self.size > MOST_TEXT

    def add(self, value: object, depth: int = 0) -> str:
        """Add the traces of a value, and return its skeleton where it is a leaf or a list of leaves."""
        if self.size > MOST_TEXT or depth > _MOST_NESTED:
            self.size += MOST_TEXT
            return ""
        kind = type(value)
        if kind is str:
            return self._add_text(str(value))
        if kind is bool or value is None:
            return ""
        if isinstance(value, int | float):
            return self._add_number(value)
        if isinstance(value, Mapping):
            for key, item in value.items():
                flat = flatten(key := str(key))
                self._add_inner(key, flat, flat.split())
                self.add(item, depth + 1)
            return ""
        if isinstance(value, list | tuple | AbstractSet):
            return self._add_items(value, depth)
        return self._add_special(value, depth)

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
                return self._add_text(str(value))
        return self._add_text(repr(value))

    def _add_items(self, items: list[object] | tuple[object, ...] | AbstractSet[object], depth: int) -> str:
        parts = [self.add(item, depth + 1) for item in items]
        if len(parts) > 1 and all(parts) and sum(map(len, parts)) <= _LONGEST_WHOLE:
            whole = "".join(parts)
            self.found.setdefault(whole, ", ".join(map(str, items))[:_LONGEST_SHOWN])
            return whole
        return parts[0] if len(parts) == 1 else ""

    def _add_bytes(self, data: bytes) -> str:
        try:
            return self._add_text(data.decode())
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
        return skeleton(text)

    def _add_text(self, text: str, depth: int = 0) -> str:
        self.size += len(text)
        text = text[: MOST_TEXT + 1] if depth or self._own is None else _without_own(text, self._own)
        flat = flatten(text)
        tokens = flat.split()
        whole = self._add_whole(text, tokens) if len(text) <= _LONGEST_WHOLE else text[:1]
        if len(tokens) > 1 or (tokens and not text.isascii()):
            self._add_inner(text, flat, tokens)
        if depth < _MOST_DEPTH and len(text) >= _SHORTEST:
            self._add_decoded(text, depth)
        return whole

    def _add_whole(self, text: str, tokens: list[str]) -> str:
        """Add a text as a whole, with what it is as a number, and return its skeleton."""
        whole = _join(tokens)
        if whole:
            shown = text.strip()[:_LONGEST_SHOWN]
            self.found.setdefault(whole, shown)
            if whole[0].isdigit() and len(text) < 40:
                for number in numbers_in(text):
                    self.found.setdefault(number, shown)
        return whole

    def _add_inner(self, text: str, flat: str, tokens: list[str]) -> None:
        """Add what no dictionary has of a text."""
        found = self.found
        rare = rare_among(tokens)
        for token in rare:
            found.setdefault(token, token)
        if _SPECIAL.search(text) is not None:
            self._add_digits(text, rare)
            for chunk in {*text.translate(_DELIMITERS).split()}:
                if not chunk.isalnum() and not (bare := chunk.strip(_AROUND)).isalnum():
                    self._add_chunk(bare)
        if len(tokens) > 1 and not text.islower():
            for name in _NAMES.findall(text):
                if text[: len(name)] != name:  # a greeting is no name
                    found.setdefault(skeleton(name), name)
        if len(tokens) > 1:
            self._add_segments(text, flat)

    def _add_digits(self, text: str, rare: list[str]) -> None:
        for found in _DIGIT_RUN.finditer(text):
            start = found.start()
            while start and text[start - 1].isalnum():
                start -= 1
            run = text[start : found.end()]
            self.found.setdefault(skeleton(run), run)
        for figure in {*_FIGURE.findall(text)}:
            for number in numbers_in(figure):
                if len(number) >= _SHORTEST:
                    self.found.setdefault(number, figure)
        for token in rare:
            if token[0] == "0" and token.isdecimal() and len(bare := token.lstrip("0")) >= _SHORTEST:
                self.found.setdefault(bare, token)

    def _add_chunk(self, chunk: str) -> None:
        """Add an address or another token with signs inside, and its parts."""
        parts = _PART.findall(chunk)
        for text in (chunk,) if len(parts) == 1 else (chunk, *parts):
            if text.isalnum():
                continue
            tokens = flatten(text).split()
            if len(tokens) > 1 and (not _OF_ADDRESSES.isdisjoint(text) or rare_among(tokens)):
                whole = _join(tokens)
                if len(whole) > _SHORTEST:
                    self.found.setdefault(whole, text)
                    if len(tokens) > 2 and text.count(".") == len(tokens) - 1:  # a host is known by its domain too
                        self.found.setdefault("".join(tokens[-2:]), text)

    def _add_segments(self, text: str, flat: str) -> None:
        """Add lines, what follows their labels, and quotations; of what is given, also the items of lists."""
        if "\n" in flat:
            for line in flat.split("\n"):
                self._add_segment(line, line.split())
        if ":" in text or "=" in text or "- " in text or "* " in text:
            for labelled in _LABELLED.findall(text):
                segment = labelled[0] or labelled[1]
                self._add_segment(segment, flatten(segment).split())
        for quotation in _QUOTED.findall(text) if '"' in text or "'" in text or "`" in text else ():
            self._add_segment(quotation, flatten(quotation).split())
        if not self._came and ("," in text or ";" in text or "|" in text or "\n" in flat or "\t" in text):
            for item in _ITEM.findall(text):
                self._add_whole(item, flatten(item).split())

    def _add_segment(self, text: str, tokens: list[str]) -> None:
        if len(tokens) >= _SENTENCE or (len(tokens) > 1 and rare_among(tokens)):
            self._add_whole(text, tokens)

    # -- encodings

    def _add_decoded(self, text: str, depth: int) -> None:
        if "%" in text and _PERCENT.search(text):
            self._add_text(unquote(text), depth + 1)
        if "&" in text and _ENTITY.search(text):
            self._add_text(html.unescape(text), depth + 1)
        if "\\" in text:
            self._add_text(unescape(text), depth + 1)
        if self._came and text[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                self.add(json.loads(text), depth + 1)
        if "\n" in text and len(text) <= _LONGEST_WHOLE:
            self._add_base64("".join(text.split()), depth)
        words = text.split()
        for word in words if len(words) == 1 else [each for each in words if len(each) >= _BASE64_WORD]:
            if len(words) == 1 or not (word.islower() or word.isdecimal()):
                self._add_base64(word.strip(".,;:\"'`()<>[]"), depth)

    def _add_base64(self, text: str, depth: int) -> None:
        bare = text.rstrip("=")
        if len(bare) % 4 == 1 or not _BASE64.fullmatch(text) or (bare.isalpha() and not rare_among([bare.lower()])):
            return
        try:
            data = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if {"-", "_"} & {*bare} else None)
            decoded = data.decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        if decoded.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
            self._add_text(decoded, depth + 1)


_BASE64_WORD = 8  # characters of one that stands in a longer text


def _without_own(text: str, own: Own) -> str:
    if own(text) or own("".join(text.split())):
        return ""
    return _OWN.sub(lambda found: " " if own(found[0].rstrip(".:!?")) else found[0], text)


def numbers_in(text: str) -> Iterator[str]:
    """Yield the plain forms of a number, for each way to read its points and commas; none for what is no number."""
    bare = text.strip(" \t\n+-$€£¥%")
    if not bare.isdecimal():
        bare = bare.replace("'", "").replace("_", "").replace(" ", "").replace("\u00a0", "")
        if not _NUMBER.fullmatch(bare):
            return
    if "e" in bare or "E" in bare:
        bare = format(float(bare.replace(",", ".")), "f") if bare.count(".") + bare.count(",") < 2 else ""
    signs = [sign for sign in bare if sign in ".,"]
    if not signs:
        yield bare.lstrip("0") or "0"
        return
    grouped = len(signs) == 1 and len(bare) - bare.rfind(signs[0]) == 4
    if grouped or (len(signs) > 1 and len({*signs}) == 1):  # 1,000 and 1.000.000
        yield bare.replace(signs[0], "").lstrip("0") or "0"
    if len(signs) == 1 or signs[-1] != signs[0]:
        whole, _, fraction = bare.rpartition(signs[-1])
        fraction = fraction.rstrip("0")
        whole = whole.replace(",", "").replace(".", "").lstrip("0") or "0"
        yield f"{whole}.{fraction}" if fraction else whole


def unescape(text: str) -> str:
    """Return a text without the backslashes of literals."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    wide, narrow, blank, other = found.groups()
    if wide or narrow:
        return chr(int(wide or narrow, 16))
    return " " if blank else str(other)
