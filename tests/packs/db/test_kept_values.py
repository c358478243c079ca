"""Sums, dates, ids and documents: what goes into a database comes out as it was, or is refused by name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ot.app import App
from tests.engine import open_engine
from tests.packs.db.conftest import write_home
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
        ('path="kept.db"', "REAL", "float('nan')", "SQLite would store NaN as NULL"),
    ],
)  # fmt: skip
async def test_what_would_be_changed_silently_is_refused(
    keeping: App, place: str, kind: str, value: str, said: str
) -> None:
    name = f"silent_{kind.lower()}"
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
