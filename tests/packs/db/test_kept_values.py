"""Sums, dates, ids and documents: what goes into a database comes out as it was, or is refused by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from zlib import crc32

import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.db.conftest import mariadb_as_admin, write_home
from tests.packs.db.person import Person
from tests.packs.db.servers import RunningServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

PLACES = ['path="kept.db"', 'path="kept.duckdb"', 'connection="postgres"', 'connection="mariadb"']


@pytest.fixture(scope="module")
async def keeping(
    postgres: RunningServer, mariadb: RunningServer, shops: App, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    home = write_home(tmp_path_factory.mktemp("home"), postgres, mariadb)
    async with open_engine(tmp_path_factory.mktemp("keeping"), home=home) as app:
        yield app


async def run(app: App, code: str) -> str:
    answer = await app.runner.run(code, caller=Person().caller)
    assert not answer.is_error, answer.text
    return answer.text


@pytest.mark.parametrize("place", PLACES)
async def test_documents_are_values_in_every_engine(keeping: App, place: str) -> None:
    text = await run(
        keeping,
        f"""
from decimal import Decimal
docs = [{{"a": [1, None, 0.5, "ü"], "price": Decimal("1.50")}}, [1, 2], None, {{}}]
db.load({place}, table="docs", rows=[{{"id": n, "doc": doc, "plain": '{{"a": 1}}'}} for n, doc in enumerate(docs)])
rows = db.query({place}, sql="SELECT doc, plain FROM docs ORDER BY id")["rows"]
assert [row["plain"] for row in rows] == ['{{"a": 1}}'] * 4, rows
[row["doc"] for row in rows] == docs
""",
    )

    assert text == "True"


@pytest.mark.parametrize("place", PLACES)
async def test_sums_of_money_keep_their_digits_or_are_refused(keeping: App, place: str) -> None:
    text = await run(
        keeping,
        f"""
from decimal import Decimal
sums = [Decimal("12345678901234567890.12"), Decimal("0.0000000000000123"), Decimal("3.50"), Decimal("-7"), 2**70]
came = []
for number, value in enumerate(sums):
    try:
        db.load({place}, table=f"money_{{number}}", rows=[{{"v": value}}])
        kept, = db.query({place}, sql=f"SELECT v FROM money_{{number}}")["rows"]
        came.append(Decimal(str(kept["v"])) == value)
        found = db.query({place}, sql=f"SELECT count(*) AS n FROM money_{{number}} WHERE v = ?", params=[value])["rows"]
        came[-1] = came[-1] and found == [{{"n": 1}}]
    except Exception as error:
        came.append("would round the number" in str(error) or str(error))
came
""",
    )

    assert text == "[true, true, true, true, true]"


async def test_a_decimal_is_a_number_to_sqlite(keeping: App) -> None:
    """As text, it would be greater than every number."""
    text = await run(
        keeping,
        """
from decimal import Decimal
db.load(path="kept.db", table="prices", rows=[{"p": Decimal("3.50")}, {"p": Decimal("12")}])
db.query(path="kept.db", sql="SELECT count(*) AS n FROM prices WHERE p * 2 > ?", params=[Decimal("7.5")])["rows"]
""",
    )

    assert text == "- {n: 1}"


async def test_a_float_is_not_lengthened_by_postgres(keeping: App) -> None:
    text = await run(
        keeping,
        """str(db.query(connection="postgres", sql="SELECT ?::numeric + 1 AS n", params=[0.1])["rows"][0]["n"])""",
    )

    assert text == "1.1"


@pytest.mark.parametrize(
    ("place", "kind", "value", "said"),
    [
        ('connection="mariadb"', "DATETIME", "datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc)", "MariaDB keeps no time zone"),
        ('connection="postgres"', "timestamp", "datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc)", "has a time zone, and the column has none"),
        ('connection="postgres"', "timestamptz", "datetime.datetime(2026, 1, 2, 3)", "has no time zone, and the column has one"),
        ('connection="postgres"', "date", "datetime.datetime(2026, 1, 2, 3)", "a date has no time"),
        ('connection="postgres"', "bigint", "1.5", "bigint would round 1.5"),
        ('connection="postgres"', "time", "datetime.time(3, tzinfo=datetime.timezone.utc)", "has a time zone, and the column has none"),
        ('path="kept.duckdb"', "TIMESTAMP", "datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc)", "has a time zone, and the column has none"),
        ('path="kept.duckdb"', "TIMESTAMPTZ", "datetime.datetime(2026, 1, 2, 3)", "has no time zone, and the column has one"),
        ('path="kept.duckdb"', "TIME", "datetime.time(3, tzinfo=datetime.timezone.utc)", "has a time zone, and the column has none"),
        ('path="kept.db"', "REAL", "float('nan')", "SQLite would store NaN as NULL"),
        ('path="kept.db"', "JSON", "{'a': float('nan')}", "JSON has no NaN"),
        ('path="kept.db"', "JSON", "{'a': b'1'}", "JSON has no value of type bytes"),
        *((place, "VARCHAR(9)", "'half \\ud800'", "surrogate") for place in PLACES),
    ],
)  # fmt: skip
async def test_what_would_be_changed_silently_is_refused(
    keeping: App, place: str, kind: str, value: str, said: str
) -> None:
    name = f"silent_{crc32(f'{kind}{value}'.encode())}"
    text = await run(
        keeping,
        f"""
import datetime
db.query({place}, sql="CREATE TABLE {name} (v {kind})", write=True)
try:
    db.load({place}, table="{name}", rows=[{{"v": {value}}}])
except Exception as error:
    said = str(error)
assert db.query({place}, sql="SELECT count(*) AS n FROM {name}")["rows"] == [{{"n": 0}}]
said
""",
    )

    assert said in text


async def test_moments_and_intervals_that_python_lacks_are_text_in_duckdb(keeping: App) -> None:
    text = await run(
        keeping,
        """
import datetime
made = "SELECT id, {} AS v FROM (VALUES (1), (2), (3)) t(id) ORDER BY id DESC"
came = []
for sql in (
    "CASE id WHEN 1 THEN DATE 'infinity' WHEN 2 THEN DATE '9999-12-31' END",
    "CASE id WHEN 1 THEN TIMESTAMP '-infinity' WHEN 2 THEN TIMESTAMP '0001-01-01' ELSE '9999-12-31 23:59:59.999999' END",
    "CASE id WHEN 1 THEN TIMESTAMPTZ 'infinity' WHEN 2 THEN TIMESTAMPTZ '2026-01-02 03:00+02' END",
    "CASE id WHEN 1 THEN TIMESTAMP_NS '2026-01-02 03:04:05.123456789' WHEN 2 THEN TIMESTAMP_NS '2026-01-02' END",
    "CASE id WHEN 1 THEN INTERVAL '1 month -30 days' WHEN 2 THEN INTERVAL '45 days' ELSE INTERVAL '1000000000 days' END",
    "['[1]'::JSON]",
    "{{'d': DATE '2026-01-02', 'j': '{{\\"a\\": 1.50}}'::JSON}}",
):
    found = db.query(path="kept.duckdb", sql=made.format(sql.replace("{{", "{").replace("}}", "}")))
    assert found["columns"] == ["id", "v"] and [row["id"] for row in found["rows"]] == [3, 2, 1], found
    came.append([row["v"] for row in found["rows"][::-1]])
utc = datetime.timezone.utc
assert came == [
    ["infinity", datetime.date(9999, 12, 31), None],
    ["-infinity", datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    ["infinity", datetime.datetime(2026, 1, 2, 1, tzinfo=utc), None],
    ["2026-01-02 03:04:05.123456789", datetime.datetime(2026, 1, 2), None],
    ["1 month -30 days", datetime.timedelta(days=45), "1000000000 days"],
    [[[1]]] * 3,
    [{"d": datetime.date(2026, 1, 2), "j": {"a": 1.5}}] * 3,
], came
said = []
for sql in ("SELECT [DATE 'infinity'] AS v", "SELECT {'i': INTERVAL '1 month'} AS v"):
    try:
        db.query(path="kept.duckdb", sql=sql)
    except Exception as error:
        said.append("cast it to text" in str(error) or str(error))
said
""",
    )

    assert text == "[true, true]"


async def test_a_lenient_mariadb_shortens_nothing_silently(keeping: App, mariadb: RunningServer) -> None:
    with mariadb_as_admin(mariadb) as admin, admin.cursor() as cursor:
        cursor.execute("SET GLOBAL sql_mode = ''")
        try:
            text = await run(
                keeping,
                """
db.query(connection="strict", sql="CREATE TABLE short (v VARCHAR(3))", write=True)
try:
    db.load(connection="strict", table="short", rows=[{"v": "long text"}])
except Exception as error:
    said = str(error)
said
""",
            )
        finally:
            cursor.execute("SET GLOBAL sql_mode = DEFAULT")

    assert "Data too long" in text


async def test_tables_of_duckdb_are_made_by_statements_too(keeping: App) -> None:
    text = await run(
        keeping, """db.query(path="kept.duckdb", sql="CREATE TABLE made (v INTEGER)", write=True)["changed"]"""
    )

    assert text == "0"


@pytest.mark.parametrize("place", ['path="kept.duckdb"', 'connection="postgres"'])
async def test_times_with_a_zone_get_a_column_with_one(keeping: App, place: str) -> None:
    text = await run(
        keeping,
        f"""
import datetime
value = datetime.time(3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
db.load({place}, table="zoned", rows=[{{"v": value}}])
db.query({place}, sql="SELECT v FROM zoned")["rows"][0]["v"] == value
""",
    )

    assert text == "True"


async def test_iso_texts_are_dates_moments_and_intervals_of_postgres(keeping: App) -> None:
    text = await run(
        keeping,
        """
import datetime
db.query(connection="postgres", sql="CREATE TABLE moments (d date, t timestamp, z timestamptz, i interval)", write=True)
rows = [
    {"d": "2026-01-02", "t": "2026-01-02T03:04:05.678901", "z": "2026-01-02T03:04+02:00", "i": "P1M-3DT100000.000001S"},
    {"d": "infinity", "t": "-infinity", "z": "infinity", "i": "PT1H30M"},
    {"d": datetime.date(1, 1, 1), "t": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), "z": "1999-12-31T23:59:59.999999Z",
     "i": datetime.timedelta(days=-1, microseconds=1)},
]
db.load(connection="postgres", table="moments", rows=rows)
first, second, third = db.query(connection="postgres", sql="SELECT * FROM moments")["rows"]
assert first["d"] == datetime.date(2026, 1, 2) and first["t"] == datetime.datetime(2026, 1, 2, 3, 4, 5, 678901), first
assert first["z"] == datetime.datetime(2026, 1, 2, 1, 4, tzinfo=datetime.timezone.utc) and first["i"] == rows[0]["i"], first
assert (second["d"], second["t"], second["z"]) == ("infinity", "-infinity", "infinity"), second
assert second["i"] == datetime.timedelta(hours=1, minutes=30), second
assert third["d"] == rows[2]["d"] and third["t"] == rows[2]["t"] and third["i"] == rows[2]["i"], third
assert third["z"] == datetime.datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc), third
same = db.query(connection="postgres", sql="SELECT count(*) AS n FROM moments WHERE d >= ? AND t < ? AND z IS NOT NULL",
    params=["2026-01-01", "2027-01-01 00:00"])["rows"]
found = db.query(connection="postgres", params=[41, "x", "2026-01-01"],
    sql="SELECT ?::int + 1 AS n, ?::text AS t WHERE ?::date < current_date")["rows"]
(same, found)
""",
    )

    assert text == "- - {n: 2}\n- - {n: 42, t: x}"
