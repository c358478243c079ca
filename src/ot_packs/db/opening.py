"""Opens the database of a call inside of a helper process. A driver is loaded when its engine is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

from ot.isolate.connection import take_connection
from ot_packs.db.addresses import server_from
from ot_packs.db.session import ServerSession, Session

_SESSIONS: list[ServerSession] = []  # the one on this process's connection, once it is open


class Target(TypedDict):
    """A database, as the server describes it to a helper process."""

    engine: str
    server: dict[str, Any]
    other: dict[str, Any] | None
    token: str
    seconds: float
    write: bool


@contextmanager
def open_target(target: Target, files: list[str]) -> Iterator[Session]:
    """Open a database for one call."""
    match "server" if target["other"] else target["engine"]:
        case "sqlite":
            from ot_packs.db.engine_sqlite import open_sqlite

            with open_sqlite(files[0], write=target["write"]) as sqlite:
                yield sqlite
        case "duckdb":
            from ot_packs.db.engine_duckdb import MEMORY, is_database, open_duckdb

            data = [] if is_database(files[0]) else files
            with open_duckdb(MEMORY if data else files[0], data=data, write=target["write"]) as duckdb:
                yield duckdb
        case _:
            yield _server_session(target)


def _server_session(target: Target) -> ServerSession:
    """Return the session on this process's connection, which is opened at the first call."""
    if not _SESSIONS:
        _SESSIONS.append(_connect(target))
    (session,) = _SESSIONS
    if not session.usable:
        raise ConnectionError("the connection was closed")
    session.prepare(target["token"], target["seconds"])
    return session


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
