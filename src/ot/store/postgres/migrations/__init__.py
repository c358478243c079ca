"""The tables of the store: files `NNN_name.sql`, each applied once and in their order.

All that are missing are applied in one transaction, by one replica while the others wait. Numbers have gaps: parts of
the store have ranges of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from ot.store.owner import StoreUnavailableError
from ot.store.postgres.group_commit import Connection

SCHEMA = "onetool"
_LOCK = 0x6F6E65746F6F6C  # of nobody else: "onetool"
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


async def migrate(connection: Connection) -> None:
    """Bring the tables to this version: wholly, or not at all. Raises StoreUnavailableError if they are newer."""
    known = find_migrations()
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", SCHEMA):
            await connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, applied timestamptz DEFAULT now())"
        )
        applied = {row["number"] for row in await connection.fetch("SELECT number FROM migrations")}
        if newer := sorted(applied - known.keys()):
            raise StoreUnavailableError(
                f"a newer OneTool has changed its tables (migration {newer[-1]:03}); bring this one up to date"
            )
        for number, statements in known.items():
            if number not in applied:
                await connection.execute(statements)
                await connection.execute("INSERT INTO migrations (number) VALUES ($1)", number)
