"""Notes of one person in the PostgreSQL that replicas share."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Sequence
from typing import Any

from mcp_core.json_types import list_of
from ot.errors import ToolError
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot_packs.full_text import Term
from ot_packs.notes.store import (
    FACTS,
    MOST_NOTES,
    Draft,
    NoteFilter,
    NoteRow,
    Summary,
    read_content,
    refuse_another,
    refuse_more,
)

_SEARCHED = 100_000  # characters of a note in which the words are shown
_SHOWN = "id, project, title, tags, created, changed, length(content) AS characters, read_before"
_CHOSEN = "principal = $1 AND ($2 = '' OR project = $2) AND ($3 = '' OR $3 = ANY(tags))"
_RANK = "ts_rank('{0.1, 0.2, 0.25, 1.0}', words, query)"
_EXCERPT = '\'StartSel="", StopSel="", MaxFragments=1, MaxWords=24, MinWords=8\''


class PostgresNotes:
    """The notes. Blocking; raises StoreUnavailableError."""

    def __init__(self, link: PostgresLink, principal: str) -> None:
        self._link, self._principal = link, principal

    def write(self, draft: Draft, *, replace: bool) -> tuple[Summary, bool]:
        content, plain = draft.content, draft.plain
        if plain and "\0" in content:  # which text in the database cannot have
            content, plain = json.dumps(content), False

        async def write(connection: Connection) -> tuple[Any, bool, int]:
            place = self._principal, draft.project, draft.title
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 13))", self._principal)
                known = "SELECT 1 FROM notes WHERE principal = $1 AND project = $2 AND title = $3"
                earlier = await connection.fetchval(known, *place) is not None
                count = await connection.fetchval("SELECT count(*) FROM notes WHERE principal = $1", self._principal)
                if (earlier and not replace) or (not earlier and count >= MOST_NOTES):
                    return None, earlier, count
                row = await connection.fetchrow(
                    "INSERT INTO notes (principal, project, title, content, plain, tags, created, changed,"
                    " read_before, words) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8,"
                    " setweight(to_tsvector('notes_words', $9), 'A') || to_tsvector('notes_words', $10))"
                    " ON CONFLICT (principal, project, title) DO UPDATE SET content = $4, plain = $5, tags = $6,"
                    f" changed = $7, read_before = $8, words = excluded.words RETURNING {_SHOWN}",
                    *place, content, plain, list(draft.tags), time.time(), sorted(draft.read_before),
                    _words(f"{draft.title} {' '.join(draft.tags)}"), _words(draft.content),
                )  # fmt: skip
                return row, earlier, count

        row, earlier, count = self._link.run_now(write)
        if row is None:
            raise refuse_another(draft.title) if earlier else refuse_more(count)
        return _summary(row), earlier

    def find(self, *, number: int, title: str, project: str) -> list[Summary]:
        if number:
            return self._select("id = $2", number)
        if not _can_be_a_name(title):
            return []
        own = self._select("title = $2 AND project = $3", title, project)
        return own or self._select("title = $2 ORDER BY changed DESC LIMIT 20", title)

    def content_of(self, note: Summary) -> object:
        statement = "SELECT content, plain FROM notes WHERE principal = $1 AND id = $2"
        for content, plain in self._link.fetch_now(statement, self._principal, note.number):
            return content if plain else read_content(content)
        raise ToolError(f"the note {note.title!r} has just been deleted")

    def list_page(self, choice: NoteFilter) -> tuple[list[Summary], int]:
        names = (self._principal, choice.project, choice.tag)
        if not _can_be_a_name(*names):
            return [], 0
        page = f"SELECT {_SHOWN} FROM notes WHERE {_CHOSEN} ORDER BY changed DESC, id DESC LIMIT $4 OFFSET $5"

        async def read(connection: Connection) -> tuple[list[Any], int]:
            total = await connection.fetchval(f"SELECT count(*) FROM notes WHERE {_CHOSEN}", *names)
            return await connection.fetch(page, *names, choice.limit, choice.offset), total

        rows, total = self._link.run_now(read)
        return [_summary(row) for row in rows], total

    def search_page(self, terms: Sequence[Term], choice: NoteFilter) -> tuple[list[Summary], int]:
        names = (self._principal, choice.project, choice.tag)
        if not _can_be_a_name(*names):
            return [], 0
        found = f"FROM notes, to_tsquery('notes_words', $4) AS query WHERE {_CHOSEN} AND words @@ query"
        excerpt = f"ts_headline('notes_words', left(content, {_SEARCHED}), query, {_EXCERPT}) AS excerpt"
        page = f"SELECT {_SHOWN}, {excerpt} {found} ORDER BY {_RANK} DESC, id LIMIT $5 OFFSET $6"
        phrases = [" <-> ".join(map(_words, term)) for term in terms]

        async def read(connection: Connection) -> tuple[list[Any], int]:
            for operator in (" & ", " | "):
                query = operator.join(f"({phrase})" for phrase in phrases)
                total = await connection.fetchval(f"SELECT count(*) {found}", *names, query)
                if total:
                    return await connection.fetch(page, *names, query, choice.limit, choice.offset), total
            return [], 0

        rows, total = self._link.run_now(read)
        return [_summary(row) for row in rows], total

    def delete(self, note: Summary) -> None:
        statement = "DELETE FROM notes WHERE principal = $1 AND id = $2"
        self._link.fetch_now(statement, self._principal, note.number)

    def row_of(self, project: str, title: str) -> NoteRow | None:
        if not _can_be_a_name(project, title):
            return None
        statement = (
            f"SELECT content, {', '.join(FACTS)} FROM notes WHERE principal = $1 AND project = $2 AND title = $3"
        )
        for row in self._link.fetch_now(statement, self._principal, project, title):
            facts = {name: [*row[name]] if isinstance(row[name], list) else row[name] for name in FACTS}
            return NoteRow(project, title, row["content"], facts)
        return None

    def put_back(self, row: NoteRow) -> None:
        facts = row.facts
        words = row.content if facts["plain"] else str(read_content(row.content))
        named = f"{row.title} {' '.join(map(str, list_of(facts['tags'])))}"
        self._link.fetch_now(
            "INSERT INTO notes (principal, project, title, content, plain, tags, created, changed, read_before, id,"
            " words) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
            " CASE WHEN EXISTS (SELECT FROM notes WHERE principal = $1 AND id = $10)"
            " THEN nextval(pg_get_serial_sequence('notes', 'id')) ELSE $10 END,"
            " setweight(to_tsvector('notes_words', $11), 'A') || to_tsvector('notes_words', $12))"
            " ON CONFLICT (principal, project, title) DO UPDATE SET content = $4, plain = $5, tags = $6,"
            " created = $7, changed = $8, read_before = $9, words = excluded.words",
            self._principal, row.project, row.title, row.content, facts["plain"], facts["tags"], facts["created"],
            facts["changed"], facts["read_before"], facts["id"], _words(named), _words(words),
        )  # fmt: skip

    def _select(self, condition: str, *values: object) -> list[Summary]:
        statement = f"SELECT {_SHOWN} FROM notes WHERE principal = $1 AND {condition}"
        rows = self._link.fetch_now(statement, self._principal, *values)
        return [_summary(row) for row in rows]


def _can_be_a_name(*texts: str) -> bool:
    """False for text that the database does not take, by which nothing can be kept."""
    return not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for text in texts for sign in text)


def _words(text: str) -> str:
    """Return the words of a text without accents; nothing else is left that a search could take for more."""
    plain = unicodedata.normalize("NFKD", text[:200_000])  # characters of a note by whose words it is found
    return " ".join(re.findall(r"[^\W_]+", "".join(sign for sign in plain if not unicodedata.combining(sign)).lower()))


def _summary(row: Any) -> Summary:
    head = row["id"], row["project"], row["title"], list(row["tags"]), row["created"], row["changed"]
    return Summary(*head, row["characters"], frozenset(row["read_before"]), row.get("excerpt") or "")
