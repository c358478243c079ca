"""A real PostgreSQL and a real MariaDB, named in the person's configuration, through runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest

from ot.app import App
from ot.isolate import IsolateHost
from ot.isolate.connection import ConnectionTarget
from ot.registry.definitions import Touches
from tests.engine import answer_of
from tests.packs.db.conftest import mariadb_as_admin, postgres_as_admin, write_home
from tests.packs.db.servers import PASSWORD, RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

NAMES = ["postgres", "mariadb"]


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
parts = list(ot.pages(db.query, connection={name!r}, sql="SELECT id FROM orders ORDER BY id", limit=2))
assert [[row["id"] for row in part["rows"]] for part in parts] == [[1, 2], [3]], parts
again = db.query(connection={name!r}, sql="SELECT 1 AS one")
(len(cut["rows"]), cut["more"], again["rows"][0]["one"])
""",
    )

    assert text == "[3, true, 1]"


POSTGRES_VALUES = """
SELECT 12345678901234567890.12::numeric AS exact, 'NaN'::numeric AS no_number, 'NaN'::float8 AS nan,
  date '2026-02-03' AS day, timestamptz '2026-02-03 04:05:06+02' AS moment, time '04:05' AS clock,
  interval '3 days 2 hours' AS span, interval '1 year 2 months' AS long, 'a-b'::bytea AS raw,
  '{"a": [1, null]}'::jsonb AS doc, ARRAY[[1, 2], [3, 4]] AS grid, ARRAY['x', NULL] AS words,
  '6f1ed002-ab5d-4f4b-9e4b-0b6f3a0b8d1c'::uuid AS id, ROW(1, 'x') AS pair, int4range(1, 5) AS span2,
  inet '10.0.0.1/8' AS net, B'101' AS bits, point '(1,2)' AS spot,
  interval '1 month -3 days 100000.000001 s' AS odd, interval '-14 months -0.5 s' AS back, 'infinity'::date AS ever,
  '-infinity'::date AS never, '9999-12-31'::date AS last, 'infinity'::timestamp AS ever2, 'infinity'::timestamptz AS ever3,
  ARRAY['infinity', '2026-01-01']::date[] AS days, '{"sum": 12345678901234567.89, "half": 0.5}'::jsonb AS money, NULL AS nothing, true AS yes, 9223372036854775807 AS big
"""
MARIADB_VALUES = """
SELECT CAST(12345678901234567890.12 AS DECIMAL(30, 2)) AS exact, DATE '2026-02-03' AS day,
  TIMESTAMP '2026-02-03 04:05:06' AS moment, TIME '26:00:00' AS span, X'612D62' AS raw, NULL AS nothing,
  18446744073709551615 AS big, '{"a": 1}' AS doc, 1e0 AS f, 'ünïcode 🫖' AS words
"""


async def test_values_of_postgres_arrive_as_what_they_are(shops: App) -> None:
    text = await answer_of(
        shops,
        f"""
from decimal import Decimal
import datetime, uuid
row = db.query(connection="postgres", sql={POSTGRES_VALUES!r})["rows"][0]
assert row["exact"] == Decimal("12345678901234567890.12") and row["no_number"].is_nan() and row["nan"] != row["nan"]
assert row["day"] == datetime.date(2026, 2, 3) and row["clock"] == datetime.time(4, 5)
assert row["moment"] == datetime.datetime(2026, 2, 3, 2, 5, 6, tzinfo=datetime.timezone.utc)
assert row["span"] == datetime.timedelta(days=3, hours=2) and row["long"] == "P1Y2M", row
assert (row["odd"], row["back"]) == ("P1M-3DT100000.000001S", "P-1Y-2MT-0.5S"), row
assert (row["ever"], row["never"], row["last"]) == ("infinity", "-infinity", datetime.date(9999, 12, 31)), row
assert row["ever2"] == row["ever3"] == "infinity" and row["days"] == ["infinity", datetime.date(2026, 1, 1)], row
assert row["money"] == {{"sum": Decimal("12345678901234567.89"), "half": 0.5}}, row
assert row["raw"] == b"a-b" and row["doc"] == {{"a": [1, None]}} and row["grid"] == [[1, 2], [3, 4]]
assert row["words"] == ["x", None] and row["id"] == uuid.UUID("6f1ed002-ab5d-4f4b-9e4b-0b6f3a0b8d1c")
assert row["span2"] == {{"lower": 1, "upper": 5, "bounds": "[)"}} and row["bits"] == "101", row
assert row["nothing"] is None and row["yes"] is True and row["big"] == 2**63 - 1
(row["pair"], row["net"], row["spot"])
""",
    )

    assert text == "[[1, x], 10.0.0.1/8, [1.0, 2.0]]"


async def test_values_of_mariadb_arrive_as_what_they_are(shops: App) -> None:
    text = await answer_of(
        shops,
        f"""
from decimal import Decimal
import datetime
row = db.query(connection="mariadb", sql={MARIADB_VALUES!r})["rows"][0]
assert row["exact"] == Decimal("12345678901234567890.12") and row["day"] == datetime.date(2026, 2, 3)
assert row["moment"] == datetime.datetime(2026, 2, 3, 4, 5, 6) and row["span"] == datetime.timedelta(hours=26)
assert row["raw"] == b"a-b" and row["big"] == 2**64 - 1 and row["nothing"] is None
(row["doc"], row["f"], row["words"])
""",
    )

    assert text == "['{\"a\": 1}', 1.0, ünïcode 🫖]"


@pytest.mark.parametrize("name", NAMES)
async def test_parameters_are_values_and_never_text(shops: App, name: str) -> None:
    text = await answer_of(
        shops,
        f"""
import datetime
evil = "x' OR '1'='1 \\\\' -- %s %(a)s ? :b"
row = db.query(connection={name!r}, sql="SELECT :evil AS a, 'a :evil ? b' AS b, :day AS c" if {name!r} == "mariadb"
    else "SELECT :evil::text AS a, 'a :evil ? b' AS b, :day::date AS c",
    params={{"evil": evil, "day": datetime.date(2026, 1, 2)}})["rows"][0]
(row["a"] == evil, row["b"], str(row["c"]))
""",
    )

    assert text == "[true, 'a :evil ? b', '2026-01-02']"


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_cancelled_ends_in_the_database(
    shops: App, postgres: RunningServer, mariadb: RunningServer, name: str
) -> None:
    sleep = "pg_sleep(600)" if name == "postgres" else "SLEEP(600)"

    async def running() -> int:
        if name == "postgres":
            async with postgres_as_admin(postgres) as admin:
                return int(
                    await admin.fetchval(
                        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"
                    )
                )
        with mariadb_as_admin(mariadb) as root, root.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SELECT SLEEP%'")
            return int((cursor.fetchone() or (0,))[0]) - 1  # itself

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shops.runner.run, f'db.query(connection={name!r}, sql="SELECT {sleep}")')
        with anyio.fail_after(60):
            while await running() != 1:
                await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()

    with anyio.fail_after(60):
        while await running() != 0:
            await anyio.sleep(0.05)


@pytest.mark.parametrize("name", NAMES)
async def test_a_server_that_ended_idle_connections_is_asked_again(
    shops: App, postgres: RunningServer, mariadb: RunningServer, name: str
) -> None:
    code = f'db.query(connection={name!r}, sql="SELECT 1 AS one")["rows"]'
    await answer_of(shops, code)

    if name == "postgres":
        async with postgres_as_admin(postgres) as admin:
            await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()")
    else:
        with mariadb_as_admin(mariadb) as root, root.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE user = 'admin' AND id != CONNECTION_ID()"
            )
            for (number,) in cursor.fetchall():
                cursor.execute(f"KILL {number}")

    assert await answer_of(shops, code) == "- {one: 1}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong", "password authentication failed"),
        ("gone", "127.0.0.1:1"),
        ("nobody", "no connection is named 'nobody' (gone, mariadb"),
        ("odd", "packs.db.connections.odd: host and port cannot be read"),
        ("other", "127.0.0.1:1521"),
    ],
)
async def test_a_connection_that_fails_is_explained_without_its_password(shops: App, name: str, said: str) -> None:
    answer = await shops.runner.run(f'db.query(connection={name!r}, sql="SELECT 1")')

    assert answer.is_error
    assert said in answer.text
    assert "hidden-word" not in answer.text


async def test_an_address_in_code_is_no_connection(shops: App, postgres: RunningServer) -> None:
    for argument in ("connection", "path"):
        answer = await shops.runner.run(
            f'db.query({argument}="postgresql://admin@127.0.0.1:{postgres.port}/postgres", sql="SELECT 1")'
        )

        assert answer.is_error


async def test_a_password_in_a_table_is_not_shown(shops: App) -> None:
    code = f'db.query(connection="postgres", sql="SELECT ? || ? AS a", params=[{PASSWORD[:5]!r}, {PASSWORD[5:]!r}])["rows"]'

    assert PASSWORD not in await answer_of(shops, code)


async def test_errors_of_the_database_are_told_in_its_words(shops: App) -> None:
    for name, word in (("postgres", "nothing_here"), ("mariadb", "nothing_here")):
        answer = await shops.runner.run(f'db.query(connection={name!r}, sql="SELECT * FROM nothing_here")')

        assert answer.is_error
        assert word in answer.text


async def test_a_helper_of_a_server_has_no_network(shops: App, postgres: RunningServer) -> None:
    """It is given one open connection, and can make no other."""
    async with IsolateHost() as host:
        target = ConnectionTarget(f"{postgres.folder}/.s.PGSQL.{postgres.port}")
        program = str(Path(__file__).with_name("line_program.py"))
        tried = await host.run(program, "try_others", {"port": postgres.port}, touches=Touches(), connection=target)

    assert tried == ["a connection", "PermissionError", "PermissionError"]


async def test_check_advises_a_role_that_only_reads(
    postgres: RunningServer, mariadb: RunningServer, shops: App, tmp_path: Path
) -> None:
    home = write_home(tmp_path, postgres, mariadb)
    command = [sys.executable, "-m", "onetool", "check", "--offline"]

    done = await anyio.run_process(command, check=False, cwd=tmp_path, env={**os.environ, "HOME": str(home)})

    said = done.stdout.decode()
    assert "packs.db.connections.odd: host and port cannot be read" in said
    assert "note: packs.db.connections.postgres: its role is a superuser" in said
    assert "note: packs.db.connections.mariadb: its role is a superuser, may read and write the server's files" in said
    assert "packs.db.connections.mariadb_socket" not in said
    assert PASSWORD not in said
    assert "hidden-word" not in said
