"""SQLite: opened read-only, with an authorizer that lets nothing but reading through."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import cast
from urllib.parse import quote as url_quote
from uuid import UUID

from ot.errors import ToolError
from ot_packs.db import session
from ot_packs.db.statements import Engine, Params, Statement

_READING_PRAGMAS = frozenset({
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "database_list", "collation_list", "function_list", "compile_options", "user_version", "encoding", "page_count",
    "page_size", "data_version",
})  # fmt: skip
_DENIED_FUNCTIONS = re.compile(r"load_extension|readfile|writefile|edit|fts3_tokenizer", re.IGNORECASE)


@contextmanager
def open_sqlite(file: str, *, write: bool = False) -> Iterator[SqliteSession]:
    """Open a database file; to write, it and the files that SQLite keeps beside it are there already."""
    # The only converter is ours: those of the library, for dates, fail at what programs write there.
    sqlite3.converters.clear()
    sqlite3.register_converter("JSON", session.read_json)
    address = f"file:{url_quote(file)}?mode={'rw' if write else 'ro'}"
    with Path(file).open("rb") as opened:
        in_wal_mode = opened.read(20)[18:] == b"\x02\x02"
    if not write and in_wal_mode and not Path(f"{file}-wal").exists():
        address += "&immutable=1"  # nobody has it open: a reader would have to make files beside it, and may not
    connection = sqlite3.connect(address, uri=True, isolation_level=None, detect_types=sqlite3.PARSE_DECLTYPES)
    try:
        connection.text_factory = _text
        connection.execute("PRAGMA busy_timeout = 5000")  # milliseconds to wait for a writer
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        if not write:
            connection.execute("PRAGMA query_only = ON")
        elif connection.execute("PRAGMA journal_mode").fetchone() == ("delete",):
            connection.execute("PRAGMA journal_mode = TRUNCATE")  # this process can remove nothing
        connection.set_authorizer(_authorize_writing if write else _authorize_reading)
        yield SqliteSession(connection)
    except sqlite3.Error as error:
        raise ToolError(_worded(error)) from None
    finally:
        connection.close()


class SqliteSession(session.Session):
    dialect: str = Engine.SQLITE

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        return session.collected(self._connection.execute(*statement.bind(params, "?", _storable)), limits)

    def write(self, statement: Statement, params: Params, limits: session.Limits) -> session.StatementRows:
        before = self._connection.total_changes
        with self._transaction():
            rows = session.collected(self._connection.execute(*statement.bind(params, "?", _storable)), limits)
        return replace(rows, changed=self._connection.total_changes - before)

    def explain(self, statement: Statement, params: Params) -> str:
        text, values = statement.bind(params, "?", _storable)
        steps = self._connection.execute(f"EXPLAIN QUERY PLAN {text}", values).fetchall()
        depth = {0: -1}
        lines = []
        for step, parent, _, detail in steps:
            depth[step] = depth.get(parent, -1) + 1
            lines.append(f"{'  ' * depth[step]}{detail}")
        return "\n".join(lines)

    def tables(self) -> list[session.Table]:
        found = self._connection.execute(
            "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
            "ESCAPE '\\' ORDER BY name"
        )
        return [session.Table(name, kind=kind) for name, kind in found.fetchall()]

    def describe(self, table: session.Table) -> session.Table:
        columns = self._connection.execute(
            'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?) WHERE hidden != 1', [table.name]
        ).fetchall()
        keys = sorted((pk, name) for name, _, _, _, pk in columns if pk)
        foreign = self._connection.execute(
            'SELECT id, "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', [table.name]
        )
        indexes = self._connection.execute(
            "SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i ORDER BY l.seq, i.seqno",
            [table.name],
        )
        return replace(
            table,
            columns=[
                session.Column(name, kind, not (set_ or pk), default) for name, kind, set_, default, pk in columns
            ],
            primary_key=[name for _, name in keys],
            foreign_keys=session.group_keys(foreign),
            indexes=session.group_columns(indexes),
        )

    def insert(self, target: str, columns: session.Columns, *, create: str) -> None:
        names = ", ".join(map(self.quote, columns))
        places = ", ".join("?" * len(columns))
        stored = [values if _is_plain(values) else list(map(_storable, values)) for values in columns.values()]
        with self._transaction():
            if create:
                self._connection.execute(create)
            self._connection.executemany(f"INSERT INTO {target} ({names}) VALUES ({places})", zip(*stored, strict=True))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Begin now, so that two writers wait for each other instead of failing halfway."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _is_plain(column: Sequence[object]) -> bool:
    """True if SQLite stores all values of a column as they are; most columns need no look at each value."""
    kinds = set(map(type, column))
    if kinds == {int}:
        return session.in_64_bits(cast("Sequence[int]", column))
    if kinds == {float}:
        return not any(map(isnan, cast("Sequence[float]", column)))
    return kinds <= {type(None), str, bytes}


def _storable(value: object) -> object:
    match value:
        case bool():
            return int(value)
        case float() if isnan(value):
            raise ToolError("SQLite would store NaN as NULL; pass None")
        case None | float() | str() | bytes():
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else session.number_for(Decimal(value), "SQLite")
        case Decimal():
            return session.number_for(value, "SQLite")
        case datetime() | date() | time():
            return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | Path():
            return str(value)
        case list() | tuple() | dict():
            return session.write_json(value)
        case _:
            raise ToolError(f"a value of type {type(value).__name__} cannot be stored")


def _text(data: bytes) -> str | bytes:
    """Read a text; what another program stored in another encoding stays bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _authorize_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    match action:
        case sqlite3.SQLITE_FUNCTION:
            allowed = not _DENIED_FUNCTIONS.fullmatch(second or "")
        case sqlite3.SQLITE_PRAGMA:
            allowed = (first or "").lower() in _READING_PRAGMAS
        case sqlite3.SQLITE_UPDATE:
            # How a virtual table is declared when it is first read; the file's mode stops a statement that says so.
            allowed = first == "sqlite_master"
        case _:
            allowed = action in {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _authorize_writing(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    reaching = action == sqlite3.SQLITE_FUNCTION and _DENIED_FUNCTIONS.fullmatch(second or "")
    denied = reaching or action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH)
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def _worded(error: sqlite3.Error) -> str:
    match getattr(error, "sqlite_errorname", ""):
        case "SQLITE_AUTH":
            return f"SQLite: {error}; only reading is allowed, and no other file; write=True asks the person"
        case "SQLITE_READONLY_ROLLBACK" | "SQLITE_READONLY_RECOVERY" | "SQLITE_CANTOPEN":
            return f"SQLite: {error}; if a program crashed while writing, open the file once with that program"
        case "SQLITE_NOTADB":
            return "SQLite: the file is not a SQLite database, or is encrypted"
        case _:
            return f"SQLite: {error}"
