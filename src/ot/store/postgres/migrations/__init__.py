"""The tables of the store: files `NNN_name.sql`, each applied once and in their order.

All that are missing are applied in one transaction, by one replica while the others wait. Numbers have gaps: parts of
the store have ranges of their own. One whose first line begins with `-- Additive` changes nothing that an older version
uses: a replica of that version goes on beside it. With `-- Additive indexes.` each statement builds an index, by itself
and while others write; until that is done they are only slower. A replica does not wait for another one that does it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from asyncpg import Record

from mcp_core.distribution import VERSION
from ot.store.owner import StoreUnavailableError
from ot.store.postgres.group_commit import Connection

SCHEMA = "onetool"
LOCK = 0x6F6E65746F6F6C  # of nobody else: "onetool"
_ADDITIVE, _INDEXES = "-- Additive", "-- Additive indexes.\n"
_CONCURRENTLY = "CREATE INDEX CONCURRENTLY "
_LONGEST = 86400.0  # seconds
_NAME = re.compile(r"(?P<number>\d{3})_\w+\.sql")
_INDEX = re.compile(rf"^{_CONCURRENTLY}(\w+) ([^;]+)", re.M)


def find_migrations() -> Mapping[int, str]:
    """Return the statements of each migration by its number, in order."""
    found = {}
    for file in files(__package__).iterdir():
        if (name := _NAME.fullmatch(file.name)) is not None:
            number = int(name["number"])
            assert number not in found, f"two migrations have the number {number}"
            found[number] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def is_additive(statements: str) -> bool:
    """True if a migration says that an older OneTool, which does not know of it, may go on: it only adds something."""
    return statements.startswith(_ADDITIVE)


async def migrate(connection: Connection) -> None:
    """Bring the tables to this version: wholly, or not at all, however long that takes.

    Raises StoreUnavailableError if a newer one has changed them in a way that this one cannot go on with.
    """
    known = find_migrations()
    async with connection.transaction():
        await connection.execute("SET LOCAL statement_timeout = 0")
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK, timeout=_LONGEST)
        if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        applied = await _find_applied(connection)
        newer = [row for row in applied if row["number"] not in known and not row["additive"]]
        if newer:
            raise StoreUnavailableError(
                f"a newer OneTool{newer[-1]['build'] and ' '}{newer[-1]['build']} has changed its tables "
                f"(migration {newer[-1]['number']:03}); bring this one up to date"
            )
        missing = sorted(known.keys() - {row["number"] for row in applied})
        indexes = [number for number in missing if applied and known[number].startswith(_INDEXES)]
        for number in missing:
            if number not in indexes:  # those of a new database have nobody to keep waiting
                statements = known[number].replace(_CONCURRENTLY, "CREATE INDEX ")
                await connection.execute(statements, timeout=_LONGEST)
                await _note(connection, number, statements)
    for number in indexes:
        await _build_indexes(connection, number, known[number])


async def _build_indexes(connection: Connection, number: int, statements: str) -> None:
    """Build indexes while others write, unless another replica does; one that was left unfinished is begun again."""
    await connection.execute("SET statement_timeout = 0")
    try:
        if await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK + 1):
            try:
                if not await connection.fetchval("SELECT true FROM migrations WHERE number = $1", number):
                    for name, rest in _INDEX.findall(statements):
                        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", timeout=_LONGEST)
                        await connection.execute(f"{_CONCURRENTLY}{name} {rest}", timeout=_LONGEST)
                    await _note(connection, number, statements)
            finally:
                await connection.execute("SELECT pg_advisory_unlock($1)", LOCK + 1)
    finally:
        await connection.execute("RESET statement_timeout")


async def _note(connection: Connection, number: int, statements: str) -> None:
    row = number, is_additive(statements), VERSION
    await connection.execute("INSERT INTO migrations (number, additive, build) VALUES ($1, $2, $3)", *row)


async def _find_applied(connection: Connection) -> list[Record]:
    """Return the migrations that were applied, in order; older versions did not note what they are."""
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, applied timestamptz DEFAULT now())"
    )
    columns = "SELECT count(*) FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'migrations'"
    if await connection.fetchval(columns, SCHEMA) == 2:
        adding = "ADD COLUMN additive boolean NOT NULL DEFAULT false, ADD COLUMN build text NOT NULL DEFAULT ''"
        await connection.execute(f"ALTER TABLE migrations {adding}")
    return await connection.fetch("SELECT number, additive, build FROM migrations ORDER BY number")
