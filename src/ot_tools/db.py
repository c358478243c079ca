"""Databases: SQLite, DuckDB, PostgreSQL, MariaDB, MySQL and others; CSV, Parquet and JSON files as tables.

The person names servers under `packs.db.connections`, so code never contains addresses or passwords.
Statements that write need `write=True` and the person's consent.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from ot.context import current
from ot.effects import best_first, reads
from ot.errors import ToolError
from ot.values import Arguments, takes_rows
from ot_packs.db.database import MOST_ROWS, Database, find_database, most_bytes
from ot_packs.db.session import CsvReading
from ot_packs.limits import as_number

pack = "db"
needs = {
    "sqlglot": "sqlglot>=30",
    "duckdb": "duckdb>=2.0",
    "pytz": "pytz>=2025.2",  # without it DuckDB gives no times with a time zone
    "asyncpg": "asyncpg>=0.32",
    "pymysql": "pymysql>=1.2",
    "sqlalchemy": "sqlalchemy>=2.1",  # for other databases, with a driver that the person installs
}


class TableName(TypedDict):
    name: str
    kind: str


class Tables(TypedDict):
    tables: list[TableName]
    total: int
    more: bool


class ColumnInfo(TypedDict):
    name: str
    type: str
    nullable: bool
    default: str | None


class ForeignKeyInfo(TypedDict):
    columns: list[str]
    table: str
    references: list[str]


class TableInfo(TypedDict):
    name: str
    kind: str
    columns: list[ColumnInfo]
    primary_key: list[str]
    foreign_keys: list[ForeignKeyInfo]
    indexes: list[list[str]]


class Described(TypedDict):
    tables: list[TableInfo]
    total: int


class Schema(Described):
    more: bool


class QueryRows(TypedDict):
    """Rows as dicts, and whether there are more; `cut_by` is "rows" or "bytes" then."""

    columns: list[str]
    rows: list[dict[str, Any]]
    more: bool
    cut_by: str
    changed: int | None


class Loaded(TypedDict):
    table: str
    rows: int
    created: bool


class Plan(TypedDict):
    engine: str
    plan: str


@reads
async def tables(
    *, connection: str | None = None, path: str | list[str] | None = None, limit: int | None = 1000
) -> Tables:
    """List the tables and views of a database.

    Args:
        connection: A name under `packs.db.connections` of the configuration.
        path: A SQLite or DuckDB file instead; or CSV, TSV, Parquet or JSON files, each a table named after its file.
        limit: Maximum number of tables to list; None for all.

    Returns:
        The tables by name, how many there are, and whether there are more than listed.

    Example:
        [table["name"] for table in db.tables(path="shop.db")["tables"]]
    """
    limit = _checked(limit)
    found = await (await find_database(connection, path)).call("tables", list[TableName])
    return {"tables": found[:limit], "total": len(found), "more": len(found) > limit}


@reads
async def schema(
    *,
    table: str | None = None,
    connection: str | None = None,
    path: str | list[str] | None = None,
    limit: int | None = 100,
) -> Schema:
    """Describe tables: columns with their types, primary and foreign keys, indexes.

    Args:
        table: One table; all by default.
        connection: A name under `packs.db.connections` of the configuration.
        path: A database file instead, or data files.
        limit: Maximum number of tables to describe, up to 500; None for so many.

    Returns:
        The tables, how many there are, and whether there are more than described.

    Example:
        [column["name"] for column in db.schema(path="shop.db", table="orders")["tables"][0]["columns"]]
    """
    limit = _checked(limit)
    found = await (await find_database(connection, path)).call("schema", Described, table=table, limit=limit)
    return {"tables": found["tables"], "total": found["total"], "more": found["total"] > len(found["tables"])}


async def query(  # noqa: PLR0913 - the last two are for files that do not say what they are
    *,
    sql: str,
    params: list[Any] | dict[str, Any] | None = None,
    connection: str | None = None,
    path: str | list[str] | None = None,
    limit: int | None = 1000,
    offset: int = 0,
    write: bool = False,
    encoding: str | None = None,
    types: dict[str, str] | None = None,
) -> QueryRows:
    """Execute one SQL statement; it may only read, unless `write` is true, which asks the person first.

    Args:
        sql: The statement, in the dialect of the database, with `?` or `:name` for parameters.
        params: A list for `?`, a dict for `:name`; never put values into the text yourself.
        connection: A name under `packs.db.connections` of the configuration.
        path: A database file instead; or CSV, TSV, Parquet or JSON files, each a table named after its file.
        limit: Maximum number of rows to return, up to a million; None for as many as `packs.db.max_bytes` allows.
        offset: Number of rows to skip, of a statement that reads; write ORDER BY, so that they are the same each time.
        write: True for a statement that changes data.
        encoding: The encoding of CSV and TSV files, such as "cp1252"; UTF-8 by default.
        types: Types of columns in CSV and TSV files that are not to be guessed: {"price": "DECIMAL(18, 2)"}.

    Returns:
        Columns, rows as dicts, whether there are more, and how many rows were changed.

    Example:
        db.query(path="shop.db", sql="SELECT name, price FROM products WHERE price < ?", params=[5])["rows"]
    """
    limit = _checked(limit)
    if offset < 0 or (offset and write):
        raise ToolError("offset must not be negative, and is for statements that read")
    size = most_bytes()
    reading: CsvReading = {"encoding": encoding, "types": types}
    database = replace(await find_database(connection, path, write=write), reading=reading)
    if write:
        await _ask(database, "Execute this statement on the database?", {"sql": sql, "params": params})
    return await database.call("query", QueryRows, sql=sql, params=params, limit=limit, offset=offset, size=size)


@reads
@best_first
async def sample(
    *, table: str, connection: str | None = None, path: str | list[str] | None = None, limit: int | None = 10
) -> QueryRows:
    """Return some rows of a table, in no particular order.

    Args:
        table: The table's name, as `db.tables` gives it.
        connection: A name under `packs.db.connections` of the configuration.
        path: A database file instead, or data files.
        limit: Maximum number of rows to return; None for all.

    Returns:
        Columns, rows as dicts, and whether there are more.

    Example:
        db.sample(path="shop.db", table="products", limit=3)["rows"]
    """
    limit = _checked(limit)
    size = most_bytes()
    database = await find_database(connection, path)
    return await database.call("sample", QueryRows, table=table, limit=limit, size=size)


@reads
async def explain(
    *,
    sql: str,
    params: list[Any] | dict[str, Any] | None = None,
    connection: str | None = None,
    path: str | list[str] | None = None,
) -> Plan:
    """Show how a database would execute a statement that only reads, without executing it.

    Args:
        sql: The statement, without EXPLAIN.
        params: A list for `?`, a dict for `:name`.
        connection: A name under `packs.db.connections` of the configuration.
        path: A database file instead, or data files.

    Returns:
        The engine, and its plan as text.

    Example:
        db.explain(path="shop.db", sql="SELECT * FROM orders WHERE product = 1")["plan"]
    """
    database = await find_database(connection, path)
    return {"engine": database.engine, "plan": await database.call("explain", str, sql=sql, params=params)}


@takes_rows
async def load(
    *, table: str, rows: list[dict[str, Any]], connection: str | None = None, path: str | None = None
) -> Loaded:
    """Insert rows into a table, all or none; a missing table is created. The person is asked first.

    Args:
        table: The table's name.
        rows: Dicts of column names to values; missing columns are NULL.
        connection: A name under `packs.db.connections` of the configuration.
        path: A SQLite or DuckDB file instead; a missing one is created.

    Returns:
        The table, the number of rows inserted, and whether the table is new.

    Example:
        db.load(path="shop.db", table="visits", rows=[{"day": "2026-01-01", "count": 3}])
    """
    database = await find_database(connection, path, write=True)
    await _ask(database, f"Insert {len(rows):,} rows into a table of the database?", {"table": table, "rows": rows})
    return await database.call("load", Loaded, table=table, rows=rows)


async def _ask(database: Database, question: str, shown: Arguments) -> None:
    named = {"database": database.name, **{name: value for name, value in shown.items() if value is not None}}
    if not await current().ask(question, named, places=map(Path, database.files)):
        raise ToolError("nothing was changed: the person said no")


def _checked(limit: int | None) -> int:
    limit = as_number(limit, MOST_ROWS)
    if not 1 <= limit <= MOST_ROWS:
        raise ToolError(f"limit must be between 1 and {MOST_ROWS:,}")
    return limit
