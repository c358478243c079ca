"""Inspecting the database of a store without changing anything in it."""

from __future__ import annotations

import asyncpg

from mcp_core.quick_dataclass import dataclass
from ot.store.postgres.link import CONNECTING, LOST, place_of
from ot.store.postgres.migrations import SCHEMA, find_migrations
from ot.store.unavailable import StoreUnavailableError


@dataclass(frozen=True, slots=True)
class SeenDatabase:
    """A database as it was found."""

    place: str
    version: str
    missing: tuple[int, ...]  # migrations that the next start of a server applies
    newer: tuple[int, ...]  # migrations of a newer OneTool
    may_create: bool


async def look_at_database(address: str) -> SeenDatabase:
    """Look at a database; raises StoreUnavailableError where it cannot be reached."""
    try:
        connection = await asyncpg.connect(address, timeout=CONNECTING)
        try:
            return await _look(connection, place_of(address))
        finally:
            await connection.close(timeout=CONNECTING)
    except (*LOST, ValueError) as error:
        raise StoreUnavailableError(f"{place_of(address)}: {str(error) or type(error).__name__}") from error


async def _look(connection: asyncpg.Connection[asyncpg.Record], place: str) -> SeenDatabase:
    table = f"{SCHEMA}.migrations"
    applied: set[int] = set()
    if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", table):
        applied = {row["number"] for row in await connection.fetch(f"SELECT number FROM {table}")}
    known = find_migrations().keys()
    return SeenDatabase(
        place,
        str(await connection.fetchval("SHOW server_version")),
        tuple(sorted(known - applied)),
        tuple(sorted(applied - known)),
        bool(await connection.fetchval("SELECT has_database_privilege(current_database(), 'CREATE')")),
    )
