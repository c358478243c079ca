"""What a plain read-only mode lets through, on real engines, and that the same statements do nothing through the pack."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import asyncpg
import duckdb
import pytest

from ot.app import App
from ot.errors import ToolError
from ot_packs.db.engine_duckdb import open_duckdb
from ot_packs.db.engine_sqlite import open_sqlite
from ot_packs.db.session import Limits
from ot_packs.db.statements import Engine, read_statement
from tests.engine import answer_of, open_engine
from tests.packs.db import hostile_statements as hostile
from tests.packs.db.conftest import mariadb_as_admin, postgres_as_admin, write_home, write_shop
from tests.packs.db.servers import RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

LIMITS = Limits(100, 100_000)


# -- the naive way


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO PROGRAM 'cat > {loot}/naive'",
        "COPY (SELECT 1) TO '{loot}/naive'",
        "SELECT pg_file_write('{loot}/naive', 'x', false)",
        "COMMIT; COPY (SELECT 1) TO PROGRAM 'cat > {loot}/naive'",
    ],
)
async def test_a_read_only_transaction_of_postgres_writes_files(shops: App, postgres: RunningServer, sql: str) -> None:
    loot = postgres.folder / "loot" / "naive"
    async with postgres_as_admin(postgres) as connection:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS adminpack")
        await connection.execute("BEGIN READ ONLY")

        await connection.execute(sql.format(loot=loot.parent))

    assert loot.exists()
    loot.unlink()


async def test_a_read_only_transaction_of_postgres_reads_files(shops: App, postgres: RunningServer) -> None:
    async with postgres_as_admin(postgres) as connection, connection.transaction(readonly=True):
        assert "root" in await connection.fetchval("SELECT pg_read_file('/etc/passwd')")


async def test_a_read_only_transaction_of_mariadb_drops_tables_and_writes_files(
    shops: App, mariadb: RunningServer
) -> None:
    loot = mariadb.folder / "loot" / "naive"
    with mariadb_as_admin(mariadb) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop.victim (a INT)")
        cursor.execute("START TRANSACTION READ ONLY")
        cursor.execute(f"SELECT 'x' INTO OUTFILE '{loot}'")
        cursor.execute("SELECT LOAD_FILE('/etc/passwd')")
        (read,) = cursor.fetchone() or ("",)
        cursor.execute("DROP TABLE shop.victim")

        cursor.execute("SHOW TABLES FROM shop LIKE 'victim'")
        assert (cursor.fetchall(), loot.exists(), b"root" in bytes(str(read), "utf-8")) == ((), True, True)
    loot.unlink()


def test_a_read_only_file_of_sqlite_lets_others_be_written(tmp_path: Path) -> None:
    write_shop(tmp_path)
    with closing(sqlite3.connect(f"file:{tmp_path}/shop.db?mode=ro", uri=True, isolation_level=None)) as shop:
        shop.execute(f"VACUUM INTO '{tmp_path}/copy.db'")
        shop.execute(f"ATTACH 'file:{tmp_path}/new.db?mode=rwc' AS loot")
        shop.execute("CREATE TABLE loot.loot (a)")

    assert {"copy.db", "new.db"} <= {file.name for file in tmp_path.iterdir()}


def test_a_read_only_file_of_duckdb_lets_others_be_written_and_read(tmp_path: Path) -> None:
    write_shop(tmp_path)
    with closing(duckdb.connect(str(tmp_path / "shop.duckdb"), read_only=True)) as shop:
        shop.execute(f"COPY products TO '{tmp_path}/loot.csv'")

        assert shop.execute("SELECT count(*) FROM read_csv('/etc/passwd', sep=':')").fetchone() != (0,)
    assert (tmp_path / "loot.csv").exists()


# -- ours


@pytest.fixture(scope="module")
async def all_four(
    postgres: RunningServer, mariadb: RunningServer, shops: App, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[App, Path]]:
    """An engine with the shop on all four engines."""
    folder = tmp_path_factory.mktemp("hostile")
    write_shop(folder)
    home = write_home(tmp_path_factory.mktemp("home"), postgres, mariadb)
    async with open_engine(folder, home=home) as app:
        yield app, folder


@pytest.mark.parametrize(
    ("where", "statements"),
    [
        ('path="shop.db"', hostile.SQLITE),
        ('path="shop.duckdb"', hostile.DUCKDB),
        ('path=["orders.csv", "products.parquet"]', hostile.DUCKDB),
        ('connection="postgres"', hostile.POSTGRES),
        ('connection="mariadb"', hostile.MARIADB),
    ],
)
async def test_none_of_them_does_anything_through_a_run(
    all_four: tuple[App, Path],
    postgres: RunningServer,
    mariadb: RunningServer,
    where: str,
    statements: Sequence[str],
) -> None:
    app, folder = all_four
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    loot = (mariadb if "mariadb" in where else postgres).folder / "loot"
    wanted = [sql.replace("{loot}", str(loot)) for sql in statements]

    text = await answer_of(
        app,
        f"""
admitted = []
for sql in {wanted!r}:
    try:
        db.query({where}, sql=sql)
    except Exception as error:
        assert "write=True" in str(error) or "admitted" in str(error) or "statement" in str(error), (sql, str(error))
    else:
        admitted.append(sql)
left = db.query({where}, sql="SELECT count(*) AS n, min(price) AS cheapest FROM products")["rows"][0]
(admitted, left["n"], float(left["cheapest"]), db.query({where}, sql="SELECT count(*) AS n FROM orders")["rows"][0]["n"])
""",
    )

    assert text == "[[], 3, 3.5, 3]"
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before
    assert postgres.files() | mariadb.files() == set()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop as files, which no test changes."""
    folder = tmp_path_factory.mktemp("files")
    write_shop(folder)
    return folder


@pytest.mark.parametrize("sql", [sql for sql in hostile.SQLITE if sql.strip(" ;")])
def test_sqlite_itself_refuses_what_would_get_past_the_tree(files: Path, sql: str) -> None:
    before = {file.name: file.read_bytes() for file in files.iterdir()}

    with suppress(ToolError):
        statement = read_statement(sql.replace("{loot}", str(files)), Engine.SQLITE)
        with open_sqlite(str(files / "shop.db")) as session:
            session.read(statement, None, LIMITS)

    assert {file.name: file.read_bytes() for file in files.iterdir()} == before


@pytest.mark.parametrize("sql", [sql for sql in hostile.DUCKDB if sql.strip(" ;")])
def test_duckdb_itself_refuses_what_would_get_past_the_tree(files: Path, sql: str) -> None:
    before = {file.name: file.read_bytes() for file in files.iterdir()}

    found: object = None
    with suppress(ToolError):
        statement = read_statement(sql.replace("{loot}", str(files)).replace("{{}}", "{}"), Engine.DUCKDB)
        with open_duckdb(str(files / "shop.duckdb")) as session:
            found = session.read(statement, None, LIMITS).rows

    assert "root:x:" not in repr(found)
    assert {file.name: file.read_bytes() for file in files.iterdir()} == before


async def test_the_role_is_the_last_fence_of_postgres(shops: App, postgres: RunningServer) -> None:
    """A role that `onetool check` would accept: the server itself refuses it files, whoever asks."""
    connection = await asyncpg.connect(
        host="127.0.0.1", port=postgres.port, user="reader", password="reads only", database="postgres"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("SELECT pg_read_file('/etc/passwd')")
    await connection.close()
