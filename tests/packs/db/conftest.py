"""Databases that the tests of this folder share: files in one project, and two servers, started when first wanted."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.db.servers import RunningServer, run_mariadb, run_postgres

SHOP = """
CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL, price DECIMAL(10, 2));
CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER REFERENCES products (id), amount INTEGER DEFAULT 1);
INSERT INTO products VALUES (1, 'tea', 3.5), (2, 'coffee', 5.25), (3, 'cocoa', 4);
INSERT INTO orders VALUES (1, 1, 2), (2, 1, 1), (3, 3, 5);
"""


@pytest.fixture(scope="session")
def postgres() -> Iterator[RunningServer]:
    """PostgreSQL; mark its tests `xdist_group("databases")`, so that one is enough."""
    with run_postgres() as server:
        yield server


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
