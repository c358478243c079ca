"""The traces that a text leaves: itself, and what no dictionary has of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from string import ascii_lowercase, ascii_uppercase, digits

from ot.flows.encodings import decode_codes, decode_hex, decode_signed, decode_word, decode_words
from ot.flows.letters import BEFORE, flatten, join, kinds_of, plain, replacing, skeleton
from ot.flows.numbers import MONTHS, NUMBER_WORDS, dates_in, dates_with_months, numbers_in, spelled_in
from ot.flows.spellings import END, ends_of, letters_for_digits, turn, windows_of
from ot.flows.words import rare_among

MOST_TEXT = 4 * 1024 * 1024  # characters of one value
LONGEST_WHOLE = 20_000  # characters of a text that is compared as a whole
LONGEST_SHOWN = 200
_LONGEST_NUMBER = 40
_SENTENCE = 4  # ordinary words that make a segment worth remembering
_SURE_SENTENCE = 40  # letters of a segment that is one, or has a rare word
SHORTEST = 3  # letters or digits of a trace inside a longer text
_LONGEST_GROUP = 5  # characters of a group, with the blank behind it, in which something encoded is written
_ENCODED = 8  # letters or digits of an encoded word in a longer text
_MOST_DEPTH = 3  # of encodings inside encodings
_BEFORE = tuple(f"{token} " for token in BEFORE)
_JSON = ("{", "[", '"')

_DELIMITERS = replacing(dict.fromkeys(",;|<>\"'`()[]{}\\", " "))
_BETWEEN_PARTS = replacing(dict.fromkeys("@/?&=#:", " "))
_AROUND = ".:!?*_-/=&#%+~"  # signs around a chunk that are no part of it
_OF_ADDRESSES = frozenset("@._/:")
_NUMBERS = re.compile(r"\d(?<!\d\d)\w*+(?:[ ,;:./()-]{1,3}+[^\W\d_]{0,4}+\+?\d\w*+)+")
_FIGURE = re.compile(r"[0-9]+[.,][0-9]+")
_FIGURES = re.compile(r"[0-9]++[.,][0-9]++(?:[.,][0-9]++)*+")
_NAMES = re.compile(r"[A-Z][a-z]+[ -][A-Z][a-z]+(?:[ -][A-Z][a-z]+){0,2}")
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{3,400})[\"'`]")
_LABELLED = re.compile(r"^[ \t]*(?:[-*][ \t]+)?[\w .-]{0,40}[:=][ \t]+(\S.*)$|^[ \t]*[-*][ \t]+(.+)$", re.MULTILINE)
_LABEL = re.compile(r"[:=*-][ \t]")
_SEPARATOR = re.compile(r"[,;|\t\n\r]")

# For ASCII: digits, signs of addresses, signs that are some only inside of a word, and letters.
_KINDS = kinds_of({"9": digits, "@": "@_/=&#%+", ".": ".:?-", "A": ascii_uppercase, "a": ascii_lowercase})


class TextTraces:
    """The traces of texts, each with the text that left it."""

    __slots__ = ("_depth", "came", "found", "size")

    def __init__(self, *, came: bool) -> None:
        """`came` for what a call brought, else for what is given to one, whose texts may be lists of items."""
        self.found: dict[str, str] = {}
        self.size = 0  # characters that were looked at
        self.came = came
        self._depth = 0  # of encodings inside encodings

    @property
    def cut(self) -> bool:
        """True if there was too much to look at everything."""
        return self.size > MOST_TEXT

    def add(self, value: object, depth: int = 0) -> str:
        """Add the traces of a value, and return its skeleton where it is a leaf or a list of leaves."""
        raise NotImplementedError

    def add_text(self, text: str) -> str:
        """Add the traces of a text, and return its skeleton where it is short enough to be compared as a whole."""
        self.size += len(text)
        if self.cut:
            text = text[:MOST_TEXT]
        if text.isalnum() and text.isascii() and len(text) <= LONGEST_WHOLE:
            return self._add_token(text)
        if len(text) > LONGEST_WHOLE:
            self._add_long(text)
            return ""
        flat = flatten(text, items=not self.came)
        tokens = flat.split()
        if not tokens:
            return ""
        rare = rare_among(tokens)
        new = [token for token in rare if token not in self.found]
        whole = self._add_whole(text, tokens)
        if len(tokens) > 1 or not text.isascii():
            self.add_inner(text, flat, tokens, rare)
        if rare:
            self.add_rare([*new, whole] if 1 < len(rare) == len(tokens) else new)
        if self._depth < _MOST_DEPTH and len(text) >= SHORTEST:
            self._add_decoded(text, tokens, rare)
        return whole

    def _add_token(self, text: str) -> str:
        """Add a text of letters and digits alone, which most leaves are."""
        token = text.lower()
        self.found.setdefault(token, text)
        mixed = not text.isalpha()
        if mixed and len(text) < _LONGEST_NUMBER:
            for number in numbers_in(text):
                self.found.setdefault(number, text)
        elif token in NUMBER_WORDS:
            self._add_spelled([token])
        if rare_among((token,)):
            self.add_rare((token,))
            if len(text) >= SHORTEST:
                self.add_said(decode_word(text))
            if len(text) >= _ENCODED:
                self.add_said(decode_hex((token,)))
        return token

    def _add_long(self, text: str) -> None:
        """Add what no dictionary has of a long text, most of whose words occur many times."""
        chunks = [*{*_DELIMITERS.apply(text).split()}]
        tokens = [*{*flatten(" ".join(chunks)).split()}]
        rare = rare_among(tokens)
        flat = flatten(text, items=not self.came)
        self.add_inner(text, flat, tokens, rare, chunks)
        self.add_rare(rare)
        if self._depth < _MOST_DEPTH:
            self._add_signed_encodings(text)
            self.add_said(decode_words(chunks))
            self.add_said(decode_hex(rare))

    def _add_whole(self, text: str, tokens: list[str]) -> str:
        """Add a text as a whole, with what it is as a number, and return its skeleton."""
        whole = "".join(tokens) if tokens and tokens[0] not in BEFORE else join(tokens)
        if whole:
            if whole not in self.found:
                self.found[whole] = text[:LONGEST_SHOWN].strip()
            if not whole.isalpha() and len(text) < _LONGEST_NUMBER:
                for number in numbers_in(text):
                    self.found.setdefault(number, text)
        return whole

    def add_rare(self, words: Iterable[str]) -> None:
        """Add what rare words are in other spellings."""
        found = self.found
        if self.came:
            for other in (*ends_of(words), *letters_for_digits(words)):
                found.setdefault(other, other)
        else:
            for word in words:
                if len(word) > SHORTEST:
                    for other in turn(word):
                        found.setdefault(other, word)
                    if len(word) >= END:
                        for part in windows_of(word):
                            found.setdefault(part, word)

    def add_inner(
        self, text: str, flat: str, tokens: list[str], rare: list[str], chunks: Iterable[str] | None = None
    ) -> None:
        """Add what no dictionary has of a text.

        Of a long one, `chunks` are what stands between its blanks, and these and tokens are there once each.
        """
        found = self.found
        for token in rare:
            found.setdefault(token, token)
        kinds = text.encode("ascii").translate(_KINDS) if text.isascii() else b"9"
        if has_digits := b"9" in kinds:
            self._add_digits(text, rare)
            if not MONTHS.isdisjoint(tokens):
                found.update((date, date) for date in dates_with_months(tokens if chunks is None else flat.split()))
        if has_digits or b"@" in kinds or b".a" in kinds or b".A" in kinds:
            self._add_signed(_DELIMITERS.apply(text).split() if chunks is None else chunks, {*rare})
        if len(tokens) > 1:
            if b"A" in kinds or not text.isascii():
                for name in _NAMES.findall(text):
                    if text[: len(name)] != name:  # a greeting is no name
                        found.setdefault(skeleton(name), name)
            self._add_segments(text, flat)
            if not NUMBER_WORDS.isdisjoint(tokens):
                self._add_spelled(tokens if chunks is None else flat.split())

    def _add_spelled(self, tokens: list[str]) -> None:
        """Add numbers that are written in words: of a longer text those of several words and digits."""
        if not (words := NUMBER_WORDS.intersection(tokens)):
            return
        if (alone := len(words) == len({*tokens} - {"and"})) or len(words) > 1 or tokens.count(*words) > 1:
            places = [place for place, token in enumerate(tokens) if token in words]
            for number in spelled_in(tokens, places):
                if alone or len(number) >= SHORTEST:
                    self.found.setdefault(number, number)
                    self.add_rare([number])

    # -- digits and addresses

    def _add_signed(self, chunks: Iterable[str], rare: set[str]) -> None:
        """Add what has signs inside: addresses, and their parts."""
        done = set[str]()
        for chunk in chunks:
            if not chunk.isalnum() and (bare := chunk.strip(_AROUND)) and not bare.isalnum():
                self._add_address(bare, rare)
                for part in _BETWEEN_PARTS.apply(bare).split():
                    if not part.isalnum() and part != bare and part not in done:
                        done.add(part)
                        self._add_address(part, rare)

    def _add_address(self, text: str, rare: set[str]) -> None:
        tokens = flatten(text).split()
        if len(tokens) > 1 and not (_OF_ADDRESSES.isdisjoint(text) and rare.isdisjoint(tokens)):
            whole = join(tokens) if tokens[0] in BEFORE else "".join(tokens)
            if len(whole) > SHORTEST:
                self.found.setdefault(whole, text)
                if len(tokens) > 2 and text.count(".") == len(tokens) - 1:  # a host is known by its domain too
                    self.found.setdefault("".join(tokens[-2:]), text)

    def _add_digits(self, text: str, rare: list[str]) -> None:
        """Add numbers with signs or blanks inside, and what they may be: amounts, dates, accounts, codes of letters."""
        found = self.found
        text = plain(text)
        for numbers in _NUMBERS.finditer(text):
            if _FIGURE.fullmatch(numbers[0]) is not None:
                self._add_figures(numbers[0])
                continue
            start = numbers.start()
            while start and text[start - 1].isalnum():
                start -= 1
            run = text[start : numbers.end()]
            flat = flatten(run)
            found.setdefault(whole := flat.replace(" ", ""), run)
            if len(whole) >= END:
                self.add_rare([whole])
            if (groups := flat.count(" ")) > 1:
                found.update((date, run) for date in dates_in(flat))
                if groups > 2:
                    self.add_said(decode_codes(flat))
            self._add_figures(run)
        for token in rare:
            if token[0] == "0" and token.isdecimal() and len(bare := token.lstrip("0")) >= SHORTEST:
                found.setdefault(bare, token)

    def _add_figures(self, text: str) -> None:
        for figure in _FIGURES.findall(text):
            for number in numbers_in(figure):
                if len(number) >= SHORTEST:
                    self.found.setdefault(number, figure)

    # -- segments

    def _add_segments(self, text: str, flat: str) -> None:
        """Add lines, what follows their labels, and quotations; of what is given, also the items of lists."""
        if "\n" in flat:
            if self.came:
                self._add_lines(flat)
            else:
                self._add_listed(text, flat)
        if (":" in text or "=" in text or "-" in text or "*" in text) and _LABEL.search(text) is not None:
            for labelled in _LABELLED.findall(text):
                self._add_segment(labelled[0] or labelled[1])
        for quotation in _QUOTED.findall(text) if '"' in text or "'" in text or "`" in text else ():
            self._add_segment(quotation)

    def _add_lines(self, flat: str) -> None:
        lines = flat.split("\n")
        for line, whole in zip(lines, flat.replace(" ", "").split("\n"), strict=True):
            if len(whole) < _SURE_SENTENCE or line.lstrip().startswith(_BEFORE):
                self._add_segment(line)
            elif len(whole) <= LONGEST_WHOLE:
                self.found.setdefault(whole, line)

    def _add_segment(self, text: str) -> None:
        tokens = flatten(text).split()
        if len(tokens) >= _SENTENCE or (len(tokens) > 1 and rare_among(tokens)):
            self._add_whole(text, tokens)

    def _add_listed(self, text: str, flat: str) -> None:
        """Add the items of a list that is written as one text, unless that is a number, and its lines."""
        found, items, wholes = self.found, _SEPARATOR.split(plain(text)), flat.replace(" ", "").split("\n")
        if len(text) < _LONGEST_NUMBER and not wholes[0].isalpha() and any(numbers_in(text)):
            return
        for item, whole in zip(items if len(items) == len(wholes) else wholes, wholes, strict=True):
            if whole.isalpha() and not whole.startswith(BEFORE):
                if whole not in found:
                    found[whole] = item
            elif whole:
                self._add_whole(item, flatten(item).split())
        if "\n" in text or "\r" in text:
            for line in text.splitlines():
                self._add_segment(line)

    # -- encodings

    def _add_decoded(self, text: str, tokens: list[str], rare: list[str]) -> None:
        bare = text.strip()
        self._add_signed_encodings(text)
        if bare[0] in _JSON:
            self._add_json(bare)
        if " " not in bare and "\n" not in bare:
            if rare:
                self.add_said(decode_word(bare))
                self.add_said(decode_hex(rare))
            return
        if rare and max(map(len, rare)) >= _ENCODED:
            self.add_said(decode_words(text.split()))
            self.add_said(decode_hex(rare))
        if len(bare) <= _LONGEST_GROUP * len(tokens) or "\n" in bare:
            self.add_said(decode_word("".join(text.split())))  # with blanks between its parts

    def _add_signed_encodings(self, text: str) -> None:
        if "%" in text or "&" in text or "\\" in text or "=" in text or "--" in text:
            self.add_said(decode_signed(text))

    def _add_json(self, text: str) -> None:
        self._depth += 1
        with suppress(ValueError, RecursionError):
            self.add(json.loads(text))
        self._depth -= 1

    def add_said(self, texts: Iterable[str]) -> None:
        """Add what a text stands for in some encoding."""
        if not texts:
            return
        self._depth += 1
        if self._depth <= _MOST_DEPTH:
            for text in texts:
                self.add_text(text)
        self._depth -= 1
