"""The tables of the store: files `NNN_name.sql`, each applied once and in their order.

All that are missing are applied in one transaction, by one replica while the others wait. Numbers have gaps: parts of
the store have ranges of their own. One whose first line is `-- Additive.` changes nothing that an older version uses:
a replica of that version goes on beside it.
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
_ADDITIVE = "-- Additive.\n"
_LONGEST = 86400.0  # seconds
_NAME = re.compile(r"(?P<number>\d{3})_\w+\.sql")


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
        missing = known.keys() - {row["number"] for row in applied}
        for number in sorted(missing):
            await connection.execute(known[number], timeout=_LONGEST)
            row = number, is_additive(known[number]), VERSION
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
