"""PostgreSQL for tests: one server a worker, and a fresh database with the tables of the store for each module."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.availability import require_installed
from tests.packs.db.servers import RunningServer, run_postgres

TEMPLATE = "ot_template"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[RunningServer]:
    """PostgreSQL; whoever asks for it, or for a database in it, belongs to the group "databases": one is enough."""
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: RunningServer) -> str:
    """The name of a database that has the tables of the store, and nobody who is connected to it."""
    from ot.store.postgres.link import PostgresLink  # only who wants a database needs its library

    create_database(postgres, TEMPLATE)
    with closing(PostgresLink(address_of(postgres, TEMPLATE))) as link:
        link.run_now(lambda connection: connection.execute("SELECT 1"))
    return TEMPLATE


@pytest.fixture(scope="module")
def database(postgres: RunningServer, template: str) -> str:
    """The address of a database of the store, which the tests of a module share."""
    return fresh_database(postgres, template)


def fresh_database(server: RunningServer, template: str = TEMPLATE) -> str:
    """Make a database with the tables of the store, and return its address."""
    name = f"ot_{next(_numbers)}"
    create_database(server, name, template=template)
    return address_of(server, name)


def create_database(server: RunningServer, name: str, *, template: str = "template0") -> None:
    run_sql(server, f"CREATE DATABASE {name} TEMPLATE {template}")


def run_sql(server: RunningServer, statement: str, *, database: str = "postgres") -> str:
    """Run a statement as the superuser, and return what it gives."""
    psql = require_installed("psql", package="postgresql-client")
    words = [
        str(psql),
        "-X",
        "-q",
        "-A",
        "-t",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        str(server.folder),
        "-p",
        str(server.port),
    ]
    words += ["-U", "admin", "-d", database, "-c", statement]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def address_of(server: RunningServer, name: str) -> str:
    """Return the address of a database by its socket, where the superuser needs no password."""
    return f"postgresql://admin@/{name}?host={server.folder}&port={server.port}"
