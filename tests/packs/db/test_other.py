"""Databases through SQLAlchemy: a real PostgreSQL, with a driver in plain Python that the pack itself does not use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
import yaml

from ot.app import App
from ot.errors import ToolError
from ot_packs.db.addresses import OtherAddress, read_connection
from ot_packs.db.reading import require_reading
from ot_packs.db.statements import NotReadableError, read_statement
from tests.engine import answer_of, open_engine
from tests.packs.db.conftest import postgres_as_admin
from tests.packs.db.person import Person
from tests.packs.db.servers import PASSWORD, RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]


@pytest.fixture(scope="module")
async def others(postgres: RunningServer, shops: App, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """An engine that knows the shop of PostgreSQL by the address of another driver; `shops` has made that."""
    place = f"127.0.0.1:{postgres.port}/postgres"
    connections = {
        "other": {"address": f"postgresql+pg8000://admin@{place}", "password": PASSWORD},
        "free": {"address": f"postgresql+pg8000://admin@{place}", "password": PASSWORD, "confined": False},
        "wrong": f"postgresql+pg8000://admin:hidden-word@{place}",
        "no_driver": f"mssql+pymssql://admin:hidden-word@{place}",
        "no_dialect": f"nosuch+thing://admin:hidden-word@{place}",
        "no_place": "snowflake://admin:hidden-word@/x",
    }
    config = yaml.safe_dump({"packs": {"db": {"connections": connections}}})
    async with open_engine(tmp_path_factory.mktemp("others"), config=config) as app:
        yield app


async def test_another_driver_reads(others: App) -> None:
    text = await answer_of(
        others,
        """
name = "other"
import datetime
found = db.query(connection=name, sql="SELECT name, price, '12:30 %s :top' AS note, :day::date AS day FROM products "
    "WHERE price < :top ORDER BY price", params={"top": 5, "day": "2026-01-02"}, limit=1)
assert found["rows"][0]["note"] == "12:30 %s :top" and found["rows"][0]["day"] == datetime.date(2026, 1, 2), found
assert (found["more"], found["cut_by"], found["changed"]) == (True, "rows", None), found
orders, = db.schema(connection=name, table="orders")["tables"]
assert orders["primary_key"] == ["id"] and orders["foreign_keys"][0]["table"] == "products", orders
assert {"orders", "products"} <= {table["name"] for table in db.tables(connection=name)["tables"]}
assert db.sample(connection=name, table="orders", limit=2)["more"]
assert "orders" in db.explain(connection=name, sql="SELECT * FROM orders")["plan"]
found["rows"][0]["name"]
""",
    )

    assert text == "tea"


async def test_a_driver_that_is_not_confined_connects_by_itself(others: App) -> None:
    assert await answer_of(others, 'db.query(connection="free", sql="SELECT 1 AS one")["rows"]') == "- {one: 1}"


async def test_a_change_is_asked_for_and_rows_are_loaded_all_or_none(others: App) -> None:
    person = Person()
    answer = await others.runner.run(
        """
db.query(connection="other", sql='CREATE TABLE loaded ("a:b" int PRIMARY KEY, b text)', write=True)
made = db.load(connection="other", table="loaded", rows=[{"a:b": 1, "b": "it's :x"}, {"a:b": 2}])
try:
    db.load(connection="other", table="loaded", rows=[{"a:b": 3}, {"a:b": 1}])
except Exception as error:
    assert "duplicate" in str(error), error
try:
    db.load(connection="other", table="unknown", rows=[{"a": 3}])
except Exception as error:
    assert "make it with db.query" in str(error), error
left = db.query(connection="other", sql="SELECT * FROM loaded ORDER BY 1")["rows"]
changed = db.query(connection="other", sql="DELETE FROM loaded", write=True)["changed"]
db.query(connection="other", sql="DROP TABLE loaded", write=True)
(made["rows"], [tuple(row.values()) for row in left], changed)
""",
        caller=person.caller,
    )

    assert answer.text == "- 2\n- [[1, 'it''s :x'], [2, null]]\n- 2"
    assert len(person.questions) == 6


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('connection="other", sql="DELETE FROM orders"', "does more than read"),
        ('connection="other", sql="SELECT pg_read_file(\'/etc/passwd\')"', "not admitted"),
        ('connection="wrong", sql="SELECT 1"', "password authentication failed"),
        ('connection="no_driver", sql="SELECT 1"', "there is no driver pymssql"),
        ('connection="no_dialect", sql="SELECT 1"', "SQLAlchemy knows no nosuch+thing"),
        ('connection="no_place", sql="SELECT 1"', "confined: false"),
    ],
)
async def test_what_does_not_work_is_explained_without_its_password(others: App, code: str, said: str) -> None:
    answer = await others.runner.run(f"db.query({code})")

    assert answer.is_error
    assert said in answer.text
    assert "hidden-word" not in answer.text


async def test_what_is_cancelled_loses_its_connection(others: App, postgres: RunningServer) -> None:
    """No mark that all databases know could stop it: a database ends it when it next speaks to its client."""

    async with postgres_as_admin(postgres) as admin:

        async def connections() -> int:
            return int(await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others.runner.run, 'db.query(connection="other", sql="SELECT pg_sleep(3)")')
            with anyio.fail_after(60):
                while await connections() != 1:
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()

        with anyio.fail_after(60):
            while await connections() != 0:
                await anyio.sleep(0.02)


HOSTILE = {
    "oracle": ["SELECT utl_http.request('http://x') FROM dual", "SELECT utl_inaddr.get_host_name FROM dual",
               "SELECT dbms_xmlquery.getxml('x') FROM dual", "SELECT s.nextval FROM dual", "SELECT mine(1) FROM dual",
               "BEGIN DELETE FROM t; END", "SELECT * FROM t FOR UPDATE", "CALL p()"],
    "tsql": ["SELECT * INTO u FROM t", "SELECT * FROM OPENROWSET('x', 'y', 'z')", "EXEC xp_cmdshell 'id'",
             "SELECT NEXT VALUE FOR s", "SELECT dbo.mine(1)", "SELECT 1; DROP TABLE t", "WAITFOR DELAY '1'",
             "DECLARE @x INT", "SELECT * FROM OPENQUERY(other, 'DELETE FROM t')"],
    "snowflake": ["COPY INTO @s FROM t", "SELECT SYSTEM$CANCEL_QUERY('x')", "SELECT mine(1)", "PUT file:///etc/passwd @s"],
    "clickhouse": ["SELECT * FROM url('http://x', CSV)", "SELECT * FROM file('/etc/passwd')", "SELECT * FROM executable('id')"],
    "": ["SELECT mine(1)", "MERGE INTO t USING u ON 1=1 WHEN MATCHED THEN DELETE", "GRANT ALL ON t TO u",
         "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "SELECT * FROM t /*! INTO OUTFILE 'x' */"],
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "sql"), [(dialect, sql) for dialect, all_ in HOSTILE.items() for sql in all_])
def test_only_plain_reading_is_admitted_where_functions_are_not_known(dialect: str, sql: str) -> None:
    with pytest.raises(NotReadableError):
        require_reading(read_statement(sql, dialect))


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("oracle", "SELECT a, NVL(b, 0), TO_CHAR(c, 'YYYY') FROM t WHERE ROWNUM < 5 ORDER BY 1"),
        ("tsql", "SELECT TOP 5 [a b], ISNULL(b, 0), GETDATE() FROM dbo.t WHERE c LIKE :x"),
        ("snowflake", "SELECT count(*) FROM a.b.c QUALIFY row_number() OVER (PARTITION BY d ORDER BY e) = 1"),
        ("", "SELECT sum(a), coalesce(b, 'x') FROM t GROUP BY 2 HAVING count(*) > 1"),
    ],
)
def test_usual_queries_are_admitted_there(dialect: str, sql: str) -> None:
    require_reading(read_statement(sql, dialect))


def test_an_address_says_where_its_driver_is_connected() -> None:
    other = read_connection("x", "oracle+oracledb://ada:word@db.example.com/?service_name=x")

    assert isinstance(other, OtherAddress)
    assert other.place == ("db.example.com", 1521)
    assert "word" not in repr(other)
    with pytest.raises(ToolError, match="confined is for databases"):
        read_connection("x", {"address": "postgresql://ada@db.example.com/x", "confined": False})
