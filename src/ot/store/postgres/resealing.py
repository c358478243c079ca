"""Sealing everything in PostgreSQL again, row by row, so that nobody waits for all of it."""

from __future__ import annotations

import hashlib
from functools import partial

from ot.store.credentials import LOGIN
from ot.store.postgres.connection import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.resealing import Resealed
from ot.store.sealing import SECRETS, SECRETS_DOCUMENT, Sealer, digest_of_person, place_of


def reseal_rows(link: PostgresLink, sealer: Sealer) -> Resealed:
    """Seal the logins and secrets of all people again; blocking. Raises StoreUnavailableError."""
    found = Resealed()
    for principal, place in link.run_now(_list_logins):
        link.run_now(partial(_login, sealer, found, principal, place))
    for principal in link.run_now(_list_secrets):
        link.run_now(partial(_secrets, sealer, found, principal))
    return found


async def _list_logins(connection: Connection) -> list[tuple[str, str]]:
    rows = await connection.fetch("SELECT principal, place FROM credentials WHERE sealed <> ''")
    return [(row["principal"], row["place"]) for row in rows]


async def _list_secrets(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT principal FROM shelf WHERE name = $1", SECRETS_DOCUMENT)
    return [row["principal"] for row in rows]


async def _login(sealer: Sealer, found: Resealed, principal: str, place: str, connection: Connection) -> None:
    one, fresh = "principal = $1 AND place = $2", list[str]()
    async with connection.transaction():
        text = await connection.fetchval(f"SELECT sealed FROM credentials WHERE {one} FOR UPDATE", principal, place)
        if text:
            found.seal(sealer, text, place_of(LOGIN, digest_of_person(principal), place), fresh.append)
        for sealed in fresh:
            await connection.execute(f"UPDATE credentials SET sealed = $3 WHERE {one}", principal, place, sealed)


async def _secrets(sealer: Sealer, found: Resealed, principal: str, connection: Connection) -> None:
    one, fresh = "principal = $1 AND name = $2", list[str]()
    row = principal, SECRETS_DOCUMENT
    async with connection.transaction():
        content = await connection.fetchval(f"SELECT content FROM shelf WHERE {one} FOR UPDATE", *row)
        if content is not None:
            found.seal(sealer, content.decode(), place_of(SECRETS, digest_of_person(principal)), fresh.append)
        for sealed in fresh:
            data = sealed.encode()
            digest = hashlib.sha256(data).hexdigest()[:32]
            await connection.execute(f"UPDATE shelf SET content = $3, digest = $4 WHERE {one}", *row, data, digest)
