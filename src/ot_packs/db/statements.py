"""One SQL statement as the tokens that were judged: without comments, with its parameters in place.

The database is sent exactly these tokens. A comment is where two parsers disagree most easily (`/*! … */` is code in
MariaDB), so none is ever sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ot.errors import ToolError

LONGEST = 200_000  # characters
_QUOTED = {
    *(TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING, TokenType.HEX_STRING),
    *(TokenType.BIT_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING, TokenType.UNICODE_STRING),
}
_COMMANDS = frozenset({TokenType.COMMAND, TokenType.EXECUTE, TokenType.FETCH, TokenType.SHOW, TokenType.RENAME})

Params = Sequence[object] | Mapping[str, object] | None


class Engine(StrEnum):
    """The databases that the pack knows itself; the value is the name of the dialect."""

    SQLITE = "sqlite"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    MARIADB = "mysql"


class NotReadableError(ToolError):
    """A statement that is not admitted."""


@dataclass(frozen=True, slots=True)
class Word:
    """One token: as it is written, the name it stands for, and whether that is quoted."""

    raw: str
    text: str
    quoted: bool
    spaced: bool  # there is a space, or was a comment, before it
    kind: TokenType


@dataclass(frozen=True, slots=True)
class Statement:
    """A single statement in the words of its dialect."""

    dialect: str
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return self.render(None, lambda value, number: "")

    def bind(
        self, params: Params, mark: str, stored: Callable[[object], object] = lambda value: value
    ) -> tuple[str, list[object]]:
        """Write it with `mark` and a number for every parameter; returns the values too, as they are `stored`."""
        values: list[object] = []

        def place(value: object, number: int) -> str:
            values.append(stored(value))
            return f"{mark}{number}"

        return self.render(params, place), values

    def render(self, params: Params, placeholder: Callable[[object, int], str]) -> str:
        """Write it with every parameter as `placeholder(value, number)`, numbered from 1 in order of appearance."""
        values = _Values(params)
        pieces: list[str] = []
        skip = False
        for place, word in enumerate(self.words):
            if skip:
                skip = False
                continue
            following = self.words[place + 1] if place + 1 < len(self.words) else None
            adjacent = following is not None and not following.spaced
            found = values.find(word, following if adjacent else None)
            pieces.append(" " if word.spaced else "")
            if found is None:
                pieces.append(word.raw)
                continue
            value, skip = found
            pieces.append(placeholder(value, values.used))
        values.require_all_used()
        return "".join(pieces).strip()


class _Values:
    """The values of the parameters as they are met: `?` and `$1` of a list, `:name` of a mapping."""

    def __init__(self, params: Params) -> None:
        self._list = list(params) if isinstance(params, Sequence) and not isinstance(params, str | bytes) else None
        self._named = dict(params) if isinstance(params, Mapping) else {}
        self._met: set[object] = set()
        self._next = 0
        self.used = 0

    def find(self, word: Word, following: Word | None) -> tuple[object, bool] | None:
        """Return the value that stands here, and whether the next word belongs to it."""
        if self._list is not None and word.kind is TokenType.PLACEHOLDER and word.raw == "?":
            self._next += 1
            return self._take_from_list(self._next), False
        if following is None or following.quoted:
            return None
        if self._list is not None and word.raw == "$" and following.raw.isdecimal():
            return self._take_from_list(int(following.raw)), True
        if word.raw == ":" and following.raw in self._named:
            self._met.add(following.raw)
            self.used += 1
            return self._named[following.raw], True
        return None

    def _take_from_list(self, number: int) -> object:
        assert self._list is not None
        if not 1 <= number <= len(self._list):
            raise ToolError(
                f"the statement asks for parameter {number}, and {len(self._list)} are given; where `?` is an "
                "operator, write the parameters as $1, $2"
            )
        self._met.add(number)
        self.used += 1
        return self._list[number - 1]

    def require_all_used(self) -> None:
        given = set(self._named) if self._list is None else set(range(1, len(self._list) + 1))
        left = sorted(map(str, given - self._met))
        if left:
            raise ToolError(
                f"the statement has no place for the parameters {', '.join(left)}; write `?` for each value of a list, "
                "`:name` for one of a dict, and nothing in quotes"
            )


def read_statement(sql: str, dialect: str) -> Statement:
    """Read one statement; raises NotReadableError for none, several, or one that parsers may understand differently."""
    if len(sql) > LONGEST:
        raise NotReadableError(f"the statement has {len(sql):,} characters, more than {LONGEST:,}")
    if "\0" in sql:
        raise NotReadableError("a statement has no null characters")
    try:
        words = list(_words(sql, dialect))
    except SqlglotError as error:
        raise NotReadableError(f"the statement cannot be read: {first_line(error)}") from None
    while words and words[-1].kind is TokenType.SEMICOLON:
        words.pop()
    if not words:
        raise NotReadableError("there is no statement")
    if any(word.kind is TokenType.SEMICOLON for word in words):
        raise NotReadableError("several statements; call once for each of them")
    _refuse_doubtful_words(words)
    return Statement(dialect, tuple(words))


def _words(sql: str, dialect: str) -> Iterator[Word]:
    end = 0
    for start, token in _tokens(sql, dialect):
        _refuse_doubtful_comment(sql[end:start])
        following = start + token.end + 1 - token.start
        if token.token_type is TokenType.QDCOLON:  # `?::int` is a parameter and a cast
            yield Word("?", "?", quoted=False, spaced=start > end, kind=TokenType.PLACEHOLDER)
            yield Word("::", "::", quoted=False, spaced=False, kind=TokenType.DCOLON)
            end = following
            continue
        yield Word(sql[start:following], token.text, token.token_type in _QUOTED, start > end, token.token_type)
        end = following
    _refuse_doubtful_comment(sql[end:])


def _tokens(sql: str, dialect: str) -> Iterator[tuple[int, Token]]:
    """Yield tokens and where they begin. What follows some commands is one text to the parser: read on there."""
    offset = 0
    while tokens := sqlglot.tokenize(sql[offset:], dialect=dialect):
        if tokens[0].token_type not in _COMMANDS:
            yield from ((offset + token.start, token) for token in tokens)
            return
        yield offset + tokens[0].start, tokens[0]
        offset += tokens[0].end + 1


def _refuse_doubtful_comment(gap: str) -> None:
    """Refuse what is between two words, unless it is space or a comment that no database executes."""
    comment = gap.strip()
    if comment and not comment.startswith(("--", "#", "/*")):
        raise NotReadableError(f"the statement cannot be read completely, at {comment[:40]}")
    if re.search(r"/\*M?!", comment):
        raise NotReadableError("comments that a database may execute (/*! … */) are not admitted; leave them out")


def _refuse_doubtful_words(words: Sequence[Word]) -> None:
    for place, word in enumerate(words):
        if word.kind is TokenType.HEREDOC_STRING and not re.match(r"\$([^\W\d]\w*)?\$", word.raw):
            raise NotReadableError(f"{word.raw[:20]} is not admitted as a quote; write the text in single quotes")
        if re.match(r"[uU]&[\"']", "".join(each.raw for each in words[place : place + 3])):
            raise NotReadableError("names and texts written as U&… are not admitted; write them as they are")


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
