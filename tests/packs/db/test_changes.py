"""Statements that write, and rows that are loaded: the person is asked, and it is all or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.db.conftest import write_home, write_shop
from tests.packs.db.person import Person
from tests.packs.db.servers import RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

PLACES = ['path="shop.db"', 'path="shop.duckdb"', 'connection="postgres"', 'connection="mariadb"']


@pytest.fixture(scope="module")
async def changing(
    postgres: RunningServer, mariadb: RunningServer, shops: App, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[App, Path]]:
    folder = tmp_path_factory.mktemp("changing")
    write_shop(folder)
    home = write_home(tmp_path_factory.mktemp("home"), postgres, mariadb)
    async with open_engine(folder, home=home) as app:
        yield app, folder


async def run(app: App, person: Person, code: str) -> str:
    answer = await app.runner.run(code, caller=person.caller)
    assert not answer.is_error, answer.text
    return answer.text


@pytest.mark.parametrize("place", PLACES)
async def test_a_change_is_made_once_the_person_agrees(changing: tuple[App, Path], place: str) -> None:
    person = Person()

    text = await run(
        changing[0],
        person,
        f"""
made = db.load({place}, table="changes", rows=[{{"id": 1, "name": "a"}}, {{"id": 2, "name": "b"}}])
assert made == {{"table": "changes", "rows": 2, "created": True}}, made
changed = db.query({place}, sql="UPDATE changes SET name = :new WHERE id = :id", params={{"new": "it's", "id": 2}}, write=True)
assert changed["changed"] == 1, changed
left = db.query({place}, sql="SELECT * FROM changes ORDER BY id")["rows"]
db.query({place}, sql="DROP TABLE changes", write=True)
[tuple(row.values()) for row in left]
""",
    )

    assert text == "[[1, a], [2, it's]]"
    assert len(person.questions) == 3
    assert "UPDATE changes SET name = :new" in person.questions[1]


@pytest.mark.parametrize("place", PLACES)
async def test_a_load_that_fails_leaves_no_row(changing: tuple[App, Path], place: str) -> None:
    text = await run(
        changing[0],
        Person(),
        f"""
try:
    db.load({place}, table="products", rows=[{{"id": 7, "name": "new", "price": 1}}, {{"id": 1, "name": "taken", "price": 1}}])
except Exception as error:
    said = str(error)
assert any(word in said.lower() for word in ("unique", "duplicate")), said
db.query({place}, sql="SELECT count(*) AS n FROM products WHERE id = 7")["rows"]
""",
    )

    assert text == "- {n: 0}"


@pytest.mark.parametrize("place", PLACES)
async def test_a_table_made_for_rows_that_do_not_go_in_is_taken_back(changing: tuple[App, Path], place: str) -> None:
    text = await run(
        changing[0],
        Person(),
        f"""
import datetime
rows = [{{"day": datetime.date(2026, 1, 1), "n": 2 ** 62}}] * 600 + [{{"day": datetime.date(2026, 1, 2), "n": {{1, 2}}}}]
try:
    db.load({place}, table="taken_back", rows=rows)
except Exception as error:
    said = str(error)
("taken_back" in [table["name"] for table in db.tables({place})["tables"]], bool(said))
""",
    )

    assert text == "[false, true]"


async def test_nothing_happens_if_the_person_says_no(changing: tuple[App, Path]) -> None:
    app, folder = changing
    refusing = Person(agrees=False)

    answer = await app.runner.run(
        'db.query(path="shop.db", sql="DELETE FROM orders", write=True)', caller=refusing.caller
    )

    assert answer.is_error
    assert "nothing was changed: the person said no" in answer.text
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        assert shop.execute("SELECT count(*) FROM orders").fetchone() == (3,)


async def test_nothing_happens_where_nobody_can_be_asked(changing: tuple[App, Path]) -> None:
    answer = await changing[0].runner.run('db.query(path="shop.db", sql="DELETE FROM orders", write=True)')

    assert answer.is_error


@pytest.mark.parametrize(
    ("place", "sql"),
    [
        ('path="shop.db"', "ATTACH 'loot.db' AS loot"),
        ('path="shop.db"', "VACUUM INTO 'loot.db'"),
        ('path="shop.db"', "DELETE FROM orders; DELETE FROM products"),
        ('path="shop.duckdb"', "COPY products TO 'loot.csv'"),
        ('path="shop.duckdb"', "INSTALL httpfs"),
        ('connection="postgres"', "COPY products TO PROGRAM 'id'"),
        ('connection="postgres"', "INSERT INTO products SELECT 9, pg_read_file('/etc/passwd'), 1"),
        ('connection="mariadb"', "LOAD DATA INFILE '/etc/passwd' INTO TABLE products"),
        ('connection="mariadb"', "INSERT INTO products SELECT 9, LOAD_FILE('/etc/passwd'), 1"),
        ('connection="mariadb"', "DELETE FROM orders; DELETE FROM products"),
    ],
)
async def test_consent_opens_tables_and_not_files(changing: tuple[App, Path], place: str, sql: str) -> None:
    answer = await changing[0].runner.run(f"db.query({place}, sql={sql!r}, write=True)", caller=Person().caller)

    assert answer.is_error
    assert "admitted" in answer.text or "several statements" in answer.text or "not authorized" in answer.text
    assert not list(changing[1].glob("loot*"))


async def test_data_files_are_not_changed(changing: tuple[App, Path]) -> None:
    answer = await changing[0].runner.run('db.load(path="orders.csv", table="orders", rows=[{"id": 1}])')

    assert "is read as a table and cannot be changed" in answer.text


async def test_a_new_file_is_made_by_a_load(changing: tuple[App, Path]) -> None:
    text = await run(
        changing[0],
        Person(),
        """
for path in ("new.sqlite", "new.duckdb"):
    db.load(path=path, table="t", rows=[{"a": 1}, {"a": None, "b": "x"}])
[sorted(db.query(path=path, sql="SELECT * FROM t")["rows"], key=str)[0] for path in ("new.sqlite", "new.duckdb")]
""",
    )

    assert text == "- {a: 1, b: null}\n- {a: 1, b: null}"


async def test_a_change_leaves_nothing_beside_the_file(changing: tuple[App, Path]) -> None:
    """What SQLite keeps there is private like the file, and a database that a load has failed to fill is not kept."""
    app, folder = changing
    with closing(sqlite3.connect(folder / "log.db")) as log:
        log.execute("PRAGMA journal_mode = WAL")
        log.execute("CREATE TABLE t (a)")
    (folder / "log.db").chmod(0o600)

    await run(
        app,
        Person(),
        """
db.load(path="log.db", table="t", rows=[{"a": 1}])
assert db.query(path="log.db", sql="SELECT a FROM t")["rows"] == [{"a": 1}]
for path in ("shop.db", "shop.duckdb", "failed.db", "failed.duckdb"):
    try:
        db.load(path=path, table="left", rows=[{"a": 1, "A": 2}])
    except Exception as error:
        assert "duplicate" in str(error).lower() or "already exists" in str(error).lower(), error
    else:
        raise AssertionError(path)
""",
    )

    beside = {file.name for file in folder.iterdir() if file.name.startswith(("shop.", "failed.", "log.db"))}
    assert beside == {"shop.db", "shop.duckdb", "log.db", "log.db-wal", "log.db-shm"}
    assert {(folder / f"log.db{end}").stat().st_mode & 0o777 for end in ("", "-wal", "-shm")} == {0o600}


async def test_a_log_that_duckdb_has_not_put_into_its_file_is_not_passed_over(changing: tuple[App, Path]) -> None:
    app, folder = changing
    (folder / "shop.duckdb.wal").touch()

    answer = await app.runner.run('db.load(path="shop.duckdb", table="t", rows=[{"a": 1}])', caller=Person().caller)

    (folder / "shop.duckdb.wal").unlink()
    assert "shop.duckdb.wal contains changes" in answer.text
