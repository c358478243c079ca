"""Databases that the tests of this folder share: files in one project, and two servers, started when first wanted."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from textwrap import dedent

import asyncpg
import duckdb
import pymysql
import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.db.servers import PASSWORD, RunningServer, run_mariadb

SHOP = """
CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL, price DECIMAL(10, 2));
CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER REFERENCES products (id), amount INTEGER DEFAULT 1);
INSERT INTO products VALUES (1, 'tea', 3.5), (2, 'coffee', 5.25), (3, 'cocoa', 4);
INSERT INTO orders VALUES (1, 1, 2), (2, 1, 1), (3, 3, 5);
"""


@pytest.fixture(scope="session")
def mariadb() -> Iterator[RunningServer]:
    """MariaDB; mark its tests `xdist_group("databases")`, so that one is enough."""
    with run_mariadb() as server:
        yield server


def write_shop(folder: Path) -> None:
    """Write a small shop as a SQLite file, a DuckDB file, and data files."""
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.executescript(SHOP)
    with closing(duckdb.connect(str(folder / "shop.duckdb"))) as shop:
        shop.execute(SHOP)
        shop.execute(f"COPY products TO '{folder}/products.parquet' (FORMAT parquet)")
        shop.execute(f"COPY orders TO '{folder}/orders.csv' (HEADER)")
        shop.execute(f"COPY orders TO '{folder}/2026-orders.json'")


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, Path]]:
    """An engine whose project has the shop, for tests that only read."""
    folder = tmp_path_factory.mktemp("shop")
    write_shop(folder)
    async with open_engine(folder, demo=False) as app:
        yield app, folder


@asynccontextmanager
async def postgres_as_admin(server: RunningServer) -> AsyncIterator[asyncpg.Connection]:
    """A connection of the superuser."""
    connection = await asyncpg.connect(host=str(server.folder), port=server.port, user="admin", database="postgres")
    try:
        yield connection
    finally:
        await connection.close()


def mariadb_as_admin(server: RunningServer) -> pymysql.Connection[pymysql.cursors.Cursor]:
    """A connection of a user who may do everything."""
    return pymysql.connect(host="127.0.0.1", port=server.port, user="admin", password=PASSWORD, autocommit=True)


@pytest.fixture(scope="session")
async def shops(
    postgres: RunningServer, mariadb: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    """An engine that knows both servers by name, each with the shop."""
    async with postgres_as_admin(postgres) as admin:
        await admin.execute(SHOP)
        await admin.execute(
            "CREATE ROLE reader LOGIN PASSWORD 'reads only'; GRANT SELECT ON products, orders TO reader"
        )
    with mariadb_as_admin(mariadb) as root, root.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("USE shop")
        for statement in SHOP.strip().split(";\n"):
            cursor.execute(statement.rstrip(";"))
        cursor.execute("CREATE USER reader IDENTIFIED BY 'reads only'")
        cursor.execute("GRANT SELECT ON shop.* TO reader")
    home = write_home(tmp_path_factory.mktemp("home"), postgres, mariadb)
    async with open_engine(tmp_path_factory.mktemp("servers"), home=home) as app:
        yield app


def write_home(home: Path, postgres: RunningServer, mariadb: RunningServer) -> Path:
    """Write the configuration of a person who has named both servers."""
    (home / ".onetool").mkdir()
    secrets = home / ".onetool" / "secrets.yaml"
    secrets.write_text(f"DB_PASSWORD: {PASSWORD!r}\n")
    secrets.chmod(0o600)
    config = f"""
        packs:
          db:
            connections:
              postgres: {{address: "postgresql://admin@127.0.0.1:{postgres.port}/postgres", password: "${{DB_PASSWORD}}"}}
              postgres_socket: postgresql://admin@/postgres?host={postgres.folder}&port={postgres.port}
              mariadb: "mysql://admin:${{DB_PASSWORD}}@127.0.0.1:{mariadb.port}/shop"
              strict: "mysql://admin:${{DB_PASSWORD}}@localhost:{mariadb.port}/shop"
              mariadb_socket: "mariadb://reader:reads%20only@/shop?unix_socket={mariadb.socket}"
              wrong: "postgresql://admin:hidden-word@127.0.0.1:{postgres.port}/postgres"
              gone: "postgresql://admin:hidden-word@127.0.0.1:1/postgres"
              odd: "postgresql://admin:hidden-word@127.0.0.1:port/postgres"
              other: "oracle://admin:hidden-word@127.0.0.1/x"
        """
    (home / ".onetool" / "onetool.yaml").write_text(dedent(config))
    return home
