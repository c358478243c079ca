"""The functions of the db pack that run in a helper process: one for each tool, on any engine.

A driver is loaded when its engine is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from itertools import chain
from typing import Any, TypedDict
from uuid import UUID

from ot.errors import ToolError
from ot.isolate.connection import take_connection
from ot.values import MANY, Rows, pack_column, takes_rows
from ot_packs.db.addresses import server_from
from ot_packs.db.reading import refuse_denied_functions, require_reading
from ot_packs.db.session import Columns, CsvReading, Limits, ServerSession, Session, StatementRows, Table, in_64_bits
from ot_packs.db.statements import Engine, NotReadableError, Params, read_statement

Given = dict[str, object]
_SESSIONS: list[ServerSession] = []  # the one on this process's connection, once it is open
_TYPES: dict[type, tuple[str, str, str, str]] = {
    # sqlite, duckdb, postgres, mysql
    bool: ("INTEGER", "BOOLEAN", "boolean", "BOOLEAN"),
    int: ("INTEGER", "BIGINT", "bigint", "BIGINT"),
    float: ("REAL", "DOUBLE", "double precision", "DOUBLE"),
    Decimal: ("NUMERIC", "", "numeric", ""),  # see _decimal_type
    datetime: ("TEXT", "TIMESTAMP", "timestamp", "DATETIME(6)"),
    date: ("TEXT", "DATE", "date", "DATE"),
    time: ("TEXT", "TIME", "time", "TIME(6)"),
    timedelta: ("REAL", "INTERVAL", "interval", "TIME(6)"),
    UUID: ("TEXT", "UUID", "uuid", "CHAR(36)"),
    bytes: ("BLOB", "BLOB", "bytea", "LONGBLOB"),
    dict: ("JSON", "JSON", "jsonb", "JSON"),
    list: ("JSON", "JSON", "jsonb", "JSON"),
    str: ("TEXT", "VARCHAR", "text", "LONGTEXT"),
}
_DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")
_MOST_DIGITS = {"duckdb": (38, 38), "mysql": (65, 30)}  # of a decimal number, and after its point


class Target(TypedDict):
    engine: str
    server: dict[str, Any]
    other: dict[str, Any] | None
    token: str
    seconds: float
    write: bool
    reading: CsvReading


@contextmanager
def open_target(target: Target, files: list[str]) -> Iterator[Session]:
    """Open a database for one call; one on a server stays open, on this process's connection."""
    try:
        match "server" if target["other"] else target["engine"]:
            case "sqlite":
                from ot_packs.db.engine_sqlite import open_sqlite

                with open_sqlite(files[0], write=target["write"]) as sqlite:
                    yield sqlite
            case "duckdb":
                from ot_packs.db.engine_duckdb import MEMORY, ending_of, open_duckdb

                data = files if ending_of(files[0]) else []
                file = MEMORY if data else files[0]
                with open_duckdb(file, data, target["reading"], write=target["write"]) as duckdb:
                    yield duckdb
            case _:
                if not _SESSIONS:
                    _SESSIONS.append(_connect(target))
                (session,) = _SESSIONS
                if not session.usable:
                    raise ConnectionError("the connection was closed")
                session.prepare(target["token"], target["seconds"])
                yield session
    except UnicodeEncodeError as error:
        raise ToolError(f"a text has half a character, the surrogate {error.object[error.start]!a}") from None


def _connect(target: Target) -> ServerSession:
    if target["other"]:
        from ot_packs.db.engine_other import connect_other

        return connect_other(**target["other"], dialect=target["engine"])
    address = server_from(target["server"])
    if address.engine == "postgres":
        from ot_packs.db.engine_postgres import connect_postgres

        return connect_postgres(address, take_connection())
    from ot_packs.db.engine_mariadb import connect_mariadb

    return connect_mariadb(address, take_connection())


def query(target: Target, files: list[str], sql: str, params: Params, limit: int, offset: int, size: int) -> Given:
    """Carry out a statement: one that only reads, unless the target is open for writing."""
    statement = read_statement(sql, target["engine"])
    write = target["write"]
    if not write:
        require_reading(statement, params)
    else:  # what reaches beyond the tables is refused, whether or not a person agrees
        first = statement.words[0].text.upper()
        if first in {"COPY", "LOAD", "ATTACH", "DETACH", "INSTALL", "EXPORT", "IMPORT", "SET", "PRAGMA", "VACUUM"}:
            raise NotReadableError(f"{first} is not admitted: it reaches files, or settings, rather than tables")
        refuse_denied_functions(statement)
    with open_target(target, files) as session:
        carry_out = session.write if write else session.read
        return _given(carry_out(statement, params, Limits(limit, size, offset)))


def explain(target: Target, files: list[str], sql: str, params: Params) -> str:
    statement = read_statement(sql, target["engine"])
    require_reading(statement, params)
    with open_target(target, files) as session:
        return session.explain(statement, params)


def sample(target: Target, files: list[str], table: str, limit: int, size: int) -> Given:
    with open_target(target, files) as session:
        found = _find(session, table)
        cut = f" LIMIT {int(limit) + 1}" if session.dialect in set(Engine) else ""  # others have other words for it
        statement = read_statement(f"SELECT * FROM {_quoted(session, found)}{cut}", session.dialect)
        return _given(session.read(statement, None, Limits(limit, size)))


def tables(target: Target, files: list[str]) -> list[dict[str, object]]:
    with open_target(target, files) as session:
        return [{"name": table.full_name, "kind": table.kind} for table in session.tables()]


def schema(target: Target, files: list[str], table: str | None, limit: int) -> dict[str, object]:
    with open_target(target, files) as session:
        found = [_find(session, table)] if table is not None else session.tables()
        described = [session.describe(each) for each in found[: min(limit, 500)]]
        shown = [{**asdict(each), "name": each.full_name} for each in described]
        for each in shown:
            del each["schema"]
        return {"tables": shown, "total": len(found)}


@takes_rows
def load(target: Target, files: list[str], table: str, rows: Sequence[Mapping[str, object]] | Rows) -> Given:
    """Insert rows into a table, which is made if there is none."""
    if isinstance(rows, Rows):
        columns: Columns = dict(zip(rows.names or (), rows.unpacked(), strict=True))
    else:
        columns = {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}
    if not columns:
        raise ToolError("there are no rows, or they have no columns; rows are a list of dicts")
    with open_target(target, files) as session:
        found = _find_or_none(session, table)
        new = found or Table(table)
        target_name = _quoted(session, new)
        kinds = ", ".join(f"{session.quote(name)} {_type_of(each, session.dialect)}" for name, each in columns.items())
        session.insert(target_name, columns, create="" if found else f"CREATE TABLE {target_name} ({kinds})")
    return {"table": new.full_name, "rows": len(rows), "created": found is None}


def blank(files: list[str]) -> bytes:
    """Return what a new database of DuckDB begins with; SQLite's is empty."""
    from ot_packs.db.engine_duckdb import blank_database

    return blank_database()


def stop(target: Target, files: list[str], token: str) -> None:
    """Cancel the statement of another connection, which was begun under a token."""
    with open_target(target, files) as session:
        if isinstance(session, ServerSession):
            session.stop(token)


def rights(target: Target, files: list[str]) -> list[str]:
    """Return what the role of a connection may do that a tool which only reads has no need of."""
    with open_target(target, files) as session:
        return session.excess() if isinstance(session, ServerSession) else []


# -- tables and values


def _given(found: StatementRows) -> Given:
    """Return few rows as they are; of many, looking at every value on its way would take longer than the database."""
    names, rows = found.columns, found.rows
    many = len(rows) * len(names) >= MANY
    packed = Rows(names, [pack_column(column) for column in zip(*rows, strict=True)], len(rows)) if many else None
    return {
        "columns": names,
        "rows": packed or [dict(zip(names, row, strict=True)) for row in rows],
        "more": found.more,
        "cut_by": found.cut_by,
        "changed": found.changed,
    }


def _find(session: Session, name: str) -> Table:
    found = _find_or_none(session, name)
    if found is None:
        known = [table.full_name for table in session.tables()]
        close = get_close_matches(name, known, n=3)
        meant = f"; did you mean {' or '.join(close)}?" if close else "; db.tables lists them"
        raise ToolError(f"there is no table {name!r}{meant}")
    return found


def _find_or_none(session: Session, name: str) -> Table | None:
    tables = session.tables()
    exact = [table for table in tables if name in (table.full_name, table.name)]
    loose = [table for table in tables if name.lower() in (table.full_name.lower(), table.name.lower())]
    return next(iter((*exact, *loose)), None)


def _quoted(session: Session, table: Table) -> str:
    name = session.quote(table.name)
    return f"{session.quote(table.schema)}.{name}" if table.schema else name


def _decimal_type(values: list[Decimal], dialect: str) -> str:
    """Choose room for all digits of decimal numbers; text, if there is not enough."""
    most, most_after = _MOST_DIGITS[dialect]
    finite = [value for value in values if value.is_finite()]
    after = max((-int(value.as_tuple().exponent) for value in finite), default=0)
    before = max((value.adjusted() + 1 for value in finite), default=1)
    after = max(after, min(10, most - before))
    if len(finite) < len(values) or after > most_after or before + after > most:
        return _TYPES[str][_DIALECTS.index(dialect)]
    return f"DECIMAL({most}, {after})" if before + after > 38 else f"DECIMAL(38, {after})"


def _type_of(values: Sequence[object], dialect: str) -> str:
    """Choose the type of a new column; text where its values differ."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {int, float}:
        kinds = {float}
    if kinds == {dict, list}:
        kinds = {dict}
    kind = next(iter(kinds)) if len(kinds) == 1 else str
    zoned = {datetime: "TIMESTAMPTZ", time: "TIMETZ"}.get(kind) if dialect in ("postgres", "duckdb") else None
    if zoned and any(isinstance(value, datetime | time) and value.tzinfo for value in values):
        return zoned
    if kind is int and not in_64_bits([value for value in values if isinstance(value, int)]):
        kind = Decimal
    if kind is Decimal and dialect in _MOST_DIGITS:
        return _decimal_type([Decimal(str(value)) for value in values if value is not None], dialect)
    place = _DIALECTS.index(dialect) if dialect in _DIALECTS else 0
    return _TYPES.get(kind, _TYPES[str])[place]
