"""Notes in a database: kept through a loss of power, found by their words, written by several servers at once."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock_time
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError
from ot.store.databases import open_database, transaction, worded
from ot_packs.full_text import TOKENS, Term, expression_of

MOST_NOTES = 20_000
LONGEST_CONTENT = 1_000_000  # characters
NOTES_FILE = "notes.db"

_COLUMNS = "title, tags, content"
_SCHEMA = (
    (
        """CREATE TABLE notes (
            id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
            plain INTEGER NOT NULL, tags TEXT NOT NULL, created REAL NOT NULL, changed REAL NOT NULL,
            read_before TEXT NOT NULL, UNIQUE (project, title)
        )""",
        f"""CREATE VIRTUAL TABLE words USING fts5(
            {_COLUMNS}, content = 'notes', content_rowid = 'id', tokenize = "{TOKENS}"
        )""",
    ),
)
_SHOWN = "notes.id, project, notes.title, notes.tags, created, changed, length(notes.content), read_before"
_CHOSEN = (
    "(:project = '' OR project = :project)"
    " AND (:tag = '' OR EXISTS (SELECT 1 FROM json_each(notes.tags) WHERE value = :tag))"
)

FACTS = ("id", "plain", "tags", "created", "changed", "read_before")
_Values = tuple[str | int | None, ...] | dict[str, str | int]  # of a statement, by place or by name
_MARK = "$note"
_KINDS: Mapping[str, Callable[[str], object]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": clock_time.fromisoformat,
    "decimal": Decimal,
}


def write_content(value: object) -> str:
    """Return plain data as JSON, in which dates, times and decimals are marked; raises ToolError."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_marked)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"a note holds only text or plain data (lists, dicts, numbers, dates): {error}") from error
    if f'"{_MARK}"' in text and read_content(text) != value:
        raise ToolError(f"a dict in a note cannot have the key {_MARK!r}")
    return text


def read_content(text: str) -> object:
    return json.loads(text, object_hook=_unmarked)


def _marked(value: object) -> dict[str, str]:
    match value:
        case datetime() | date() | clock_time():
            return {_MARK: type(value).__name__, "value": value.isoformat()}
        case Decimal():
            return {_MARK: "decimal", "value": str(value)}
        case _:
            raise TypeError(f"{type(value).__name__} is neither")


def _unmarked(found: dict[str, object]) -> object:
    kind, value = found.get(_MARK), found.get("value")
    if len(found) == 2 and isinstance(kind, str) and isinstance(value, str) and kind in _KINDS:
        return _KINDS[kind](value)
    return found


@dataclass(frozen=True, slots=True)
class Draft:
    """A note to be written; `plain` content is text, other content is JSON."""

    project: str
    title: str
    content: str
    plain: bool
    tags: Sequence[str]
    read_before: frozenset[str]


class Summary(NamedTuple):
    """A note without its content; an excerpt shows where words were found."""

    number: int
    project: str
    title: str
    tags: list[str]
    created: float
    changed: float
    characters: int
    read_before: frozenset[str]
    excerpt: str = ""


class NoteRow(NamedTuple):
    """All that is kept of a note: `facts` are number, plain, tags, created, changed and read_before."""

    project: str
    title: str
    content: str
    facts: JsonObject


@dataclass(frozen=True, slots=True)
class NoteFilter:
    """Which notes: of one project and with one tag, where they are given, and which page of them."""

    project: str
    tag: str
    limit: int
    offset: int


class Notes(Protocol):
    """The notes of one person. Blocking."""

    def write(self, draft: Draft, *, replace: bool) -> tuple[Summary, bool]: ...
    def find(self, *, number: int, title: str, project: str) -> list[Summary]: ...
    def content_of(self, note: Summary) -> object: ...
    def list_page(self, choice: NoteFilter) -> tuple[list[Summary], int]: ...
    def search_page(self, terms: Sequence[Term], choice: NoteFilter) -> tuple[list[Summary], int]: ...
    def delete(self, note: Summary) -> None: ...
    def row_of(self, project: str, title: str) -> NoteRow | None: ...
    def put_back(self, row: NoteRow) -> None: ...


class NoteStore:
    """Notes in a file of this machine; raises DatabaseUnavailableError."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, draft: Draft, *, replace: bool) -> tuple[Summary, bool]:
        """Keep a note; True if it took the place of one with the same title. Raises ToolError."""
        with transaction(self._connection):
            earlier = self._by_title(draft.title, draft.project)
            if earlier and not replace:
                raise refuse_another(draft.title)
            if not earlier and self._count("SELECT COUNT(*) FROM notes") >= MOST_NOTES:
                raise refuse_more(MOST_NOTES)
            now = time.time()
            number, created = (earlier[0].number, earlier[0].created) if earlier else (None, now)
            for note in earlier:
                self._remove(note)
            tags, marks = json.dumps(draft.tags, ensure_ascii=False), json.dumps(sorted(draft.read_before))
            given = draft.project, draft.title, draft.content, draft.plain
            number = self._insert((number, *given, tags, created, now, marks))
            (written,) = self._select("WHERE notes.id = ?", (number,))
        return written, bool(earlier)

    def find(self, *, number: int, title: str, project: str) -> list[Summary]:
        """Find a note by its number, or by its title: that of the project, or else those of others."""
        if number:
            return self._select("WHERE notes.id = ?", (number,))
        others = "WHERE title = ? ORDER BY changed DESC LIMIT 20"
        return self._by_title(title, project) or self._select(others, (title,))

    def content_of(self, note: Summary) -> object:
        row = self._connection.execute("SELECT content, plain FROM notes WHERE id = ?", (note.number,)).fetchone()
        if row is None:
            raise ToolError(f"the note {note.title!r} has just been deleted")
        content, plain = row
        return content if plain else read_content(content)

    def list_page(self, choice: NoteFilter) -> tuple[list[Summary], int]:
        """Return one page of the notes, those changed last first, and how many there are."""
        values = _named(choice)
        page = f"WHERE {_CHOSEN} ORDER BY changed DESC, notes.id DESC LIMIT :limit OFFSET :offset"
        total = self._count(f"SELECT COUNT(*) FROM notes WHERE {_CHOSEN}", values)
        return self._select(page, values), total

    def search_page(self, terms: Sequence[Term], choice: NoteFilter) -> tuple[list[Summary], int]:
        """Return one page of the notes with all words, or else any of them, the best first, and how many there are."""
        values = _named(choice)
        joined = "FROM words JOIN notes ON notes.id = words.rowid"
        found = f"WHERE words MATCH :words AND {_CHOSEN}"
        for operator in (" AND ", " OR "):
            values["words"] = operator.join(map(expression_of, terms))
            total = self._count(f"SELECT COUNT(*) {joined} {found}", values)
            if total:
                break
        page = f"{found} ORDER BY bm25(words, 4.0, 4.0, 1.0), notes.id LIMIT :limit OFFSET :offset"
        excerpt = "snippet(words, 2, '', '', '…', 24)"
        rows = self._connection.execute(f"SELECT {_SHOWN}, {excerpt} {joined} {page}", values)
        return [_summary(row) for row in rows], total

    def delete(self, note: Summary) -> None:
        """Forget a note; one that is gone already is no mistake."""
        with transaction(self._connection):
            self._remove(note)

    def row_of(self, project: str, title: str) -> NoteRow | None:
        """Return all that is kept of a note, if there is one."""
        statement = f"SELECT content, {', '.join(FACTS)} FROM notes WHERE project = ? AND title = ?"
        row = self._connection.execute(statement, (project, title)).fetchone()
        if row is None:
            return None
        content, number, plain, tags, created, changed, marks = row
        facts = number, bool(plain), json.loads(tags), created, changed, json.loads(marks)
        return NoteRow(project, title, content, dict(zip(FACTS, facts, strict=True)))

    def put_back(self, row: NoteRow) -> None:
        """Make a note what it was, in place of one with the same title."""
        number, plain, tags, created, changed, marks = (row.facts[name] for name in FACTS)
        with transaction(self._connection):
            for note in self._by_title(row.title, row.project):
                self._remove(note)
            if self._count("SELECT COUNT(*) FROM notes WHERE id = ?", (str(number),)):
                number = None  # another note has it by now
            written = json.dumps(tags, ensure_ascii=False), created, changed, json.dumps(marks)
            self._insert((number, row.project, row.title, row.content, plain, *written))

    def _insert(self, values: tuple[Json, ...]) -> int | None:
        number = self._connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
        self._connection.execute(
            f"INSERT INTO words (rowid, {_COLUMNS}) SELECT id, {_COLUMNS} FROM notes WHERE id = ?", (number,)
        )
        return number

    def _remove(self, note: Summary) -> None:
        """Take a note out of both tables; triggers, which could do it, are not trusted with the second one."""
        self._connection.execute(
            f"INSERT INTO words (words, rowid, {_COLUMNS}) SELECT 'delete', id, {_COLUMNS} FROM notes WHERE id = ?",
            (note.number,),
        )
        self._connection.execute("DELETE FROM notes WHERE id = ?", (note.number,))

    def _by_title(self, title: str, project: str) -> list[Summary]:
        return self._select("WHERE project = ? AND title = ?", (project, title))

    def _select(self, condition: str, values: _Values) -> list[Summary]:
        return [_summary(row) for row in self._connection.execute(f"SELECT {_SHOWN} FROM notes {condition}", values)]

    def _count(self, statement: str, values: _Values = ()) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])


def _named(choice: NoteFilter) -> dict[str, str | int]:
    return {"project": choice.project, "tag": choice.tag, "limit": choice.limit, "offset": choice.offset}


def refuse_another(title: str) -> ToolError:
    return ToolError(f"there is already a note {title!r}; replace=True replaces it, another title keeps both")


def refuse_more(count: int) -> ToolError:
    return ToolError(f"there are {count:,} notes, the maximum: delete some with notes.delete")


@contextmanager
def open_notes(folder: Path) -> Iterator[NoteStore]:
    """Open the notes; raises DatabaseUnavailableError. Damaged ones are never thrown away: a person may save them."""
    file = folder / NOTES_FILE
    with worded(file), closing(open_database(file, _SCHEMA, through=True)) as connection:
        yield NoteStore(connection)


def _summary(row: tuple[int, str, str, str, float, float, int, str, str]) -> Summary:
    number, project, title, tags, created, changed, characters, read_before, *excerpt = row
    marks = frozenset(map(str, json.loads(read_before)))
    return Summary(number, project, title, json.loads(tags), created, changed, characters, marks, *excerpt)
