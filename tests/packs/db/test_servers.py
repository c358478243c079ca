"""A real PostgreSQL and a real MariaDB, named in the person's configuration, through runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from textwrap import dedent

import asyncpg
import pymysql
import pytest

from ot.app import App
from tests.engine import answer_of, open_engine
from tests.packs.db.conftest import SHOP
from tests.packs.db.servers import PASSWORD, RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

NAMES = ["postgres", "mariadb"]


async def postgres_as_admin(server: RunningServer) -> asyncpg.Connection:
    return await asyncpg.connect(host=str(server.folder), port=server.port, user="admin", database="postgres")


def mariadb_as_admin(server: RunningServer) -> pymysql.Connection[pymysql.cursors.Cursor]:
    return pymysql.connect(host="127.0.0.1", port=server.port, user="admin", password=PASSWORD, autocommit=True)


@pytest.fixture(scope="module")
async def shops(
    postgres: RunningServer, mariadb: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    """An engine that knows both servers by name, each with the shop."""
    admin = await postgres_as_admin(postgres)
    await admin.execute(SHOP)
    await admin.execute("CREATE ROLE reader LOGIN PASSWORD 'reads only'; GRANT SELECT ON products, orders TO reader")
    await admin.close()
    with mariadb_as_admin(mariadb) as root, root.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("USE shop")
        for statement in SHOP.strip().split(";\n"):
            cursor.execute(statement.rstrip(";"))
        cursor.execute("CREATE USER reader IDENTIFIED BY 'reads only'")
        cursor.execute("GRANT SELECT ON shop.* TO reader")
    home = tmp_path_factory.mktemp("home")
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
              mariadb_socket: "mariadb://reader:reads%20only@/shop?unix_socket={mariadb.socket}"
              wrong: "postgresql://admin:not-the-password@127.0.0.1:{postgres.port}/postgres"
              gone: postgresql://admin@127.0.0.1:1/postgres
        """
    (home / ".onetool" / "onetool.yaml").write_text(dedent(config))
    async with open_engine(tmp_path_factory.mktemp("servers"), home=home) as app:
        yield app


@pytest.mark.parametrize("name", NAMES)
async def test_rows_come_from_a_server(shops: App, name: str) -> None:
    text = await answer_of(
        shops,
        f"""
found = db.query(connection={name!r}, sql="SELECT name, price FROM products WHERE price < ? ORDER BY price", params=[5])
[(row["name"], float(row["price"]), type(row["price"]).__name__) for row in found["rows"]]
""",
    )

    assert text == "[[tea, 3.5, Decimal], [cocoa, 4.0, Decimal]]"


@pytest.mark.parametrize("name", ["postgres_socket", "mariadb_socket"])
async def test_a_socket_of_this_machine_does_as_well(shops: App, name: str) -> None:
    assert await answer_of(shops, f'db.query(connection={name!r}, sql="SELECT 1 AS one")["rows"]') == "- {one: 1}"


@pytest.mark.parametrize("name", NAMES)
async def test_a_schema_has_columns_and_keys(shops: App, name: str) -> None:
    text = await answer_of(
        shops,
        f"""
orders, = db.schema(connection={name!r}, table="orders")["tables"]
assert orders["primary_key"] == ["id"], orders
assert orders["foreign_keys"] == [{{"columns": ["product"], "table": "products", "references": ["id"]}}], orders
assert ["id"] in orders["indexes"], orders
assert {{"orders", "products"}} <= {{t["name"] for t in db.tables(connection={name!r})["tables"]}}
assert len(db.sample(connection={name!r}, table="orders", limit=2)["rows"]) == 2
assert "orders" in db.explain(connection={name!r}, sql="SELECT * FROM orders WHERE id = :id", params={{"id": 1}})["plan"]
[(c["name"], c["nullable"]) for c in orders["columns"]]
""",
    )

    assert text == "[[id, false], [product, true], [amount, true]]"


@pytest.mark.parametrize("name", NAMES)
async def test_rows_beyond_the_limit_are_not_fetched(shops: App, name: str) -> None:
    rows = "generate_series(1, 1000000) AS g(n)" if name == "postgres" else "seq_1_to_1000000"
    text = await answer_of(
        shops,
        f"""
cut = db.query(connection={name!r}, sql="SELECT * FROM {rows} LIMIT 900000", limit=3)
again = db.query(connection={name!r}, sql="SELECT 1 AS one")
(len(cut["rows"]), cut["more"], again["rows"][0]["one"])
""",
    )

    assert text == "[3, true, 1]"
