"""Database files and data files, through runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from ot.app import App
from ot.errors import ToolError
from ot_packs.db.session import Limits, collect
from tests.engine import answer_of

pytestmark = pytest.mark.anyio

Shop = tuple[App, Path]


@pytest.mark.parametrize("path", ["shop.db", "shop.duckdb"])
async def test_rows_are_dicts_with_the_values_of_the_database(shop: Shop, path: str) -> None:
    text = await answer_of(
        shop[0],
        f"""
found = db.query(path={path!r}, sql="SELECT name, price FROM products WHERE price < :top ORDER BY price", params={{"top": 5}})
assert found["columns"] == ["name", "price"] and not found["more"], found
[(row["name"], float(row["price"])) for row in found["rows"]]
""",
    )

    assert text == "[[tea, 3.5], [cocoa, 4.0]]"


async def test_data_files_are_tables_by_their_names(shop: Shop) -> None:
    text = await answer_of(
        shop[0],
        """
files = ["orders.csv", "products.parquet", "2026-orders.json"]
assert [t["name"] for t in db.tables(path=files)["tables"]] == ["_2026_orders", "orders", "products"]
db.query(path=files, sql="SELECT p.name, sum(o.amount) AS n FROM orders o JOIN products p ON p.id = o.product "
         "JOIN _2026_orders j ON j.id = o.id GROUP BY ALL ORDER BY n")["rows"]
""",
    )

    assert text == "- {name: tea, n: 3}\n- {name: cocoa, n: 5}"


@pytest.mark.parametrize("path", ["shop.db", "shop.duckdb"])
async def test_a_schema_has_columns_and_keys(shop: Shop, path: str) -> None:
    text = await answer_of(
        shop[0],
        f"""
orders, = db.schema(path={path!r}, table="orders")["tables"]
assert orders["primary_key"] == ["id"], orders
assert orders["foreign_keys"] == [{{"columns": ["product"], "table": "products", "references": ["id"]}}], orders
assert db.schema(path={path!r}, limit=1)["more"]
[(c["name"], c["nullable"]) for c in orders["columns"]]
""",
    )

    assert text == "[[id, false], [product, true], [amount, true]]"


@pytest.mark.parametrize("path", ["shop.db", "shop.duckdb", "orders.csv"])
async def test_a_limit_is_told(shop: Shop, path: str) -> None:
    text = await answer_of(
        shop[0],
        f"""
cut = db.sample(path={path!r}, table="orders", limit=2)
(len(cut["rows"]), cut["more"], cut["cut_by"], db.sample(path={path!r}, table="ORDERS", limit=3)["more"])
""",
    )

    assert text == "[2, true, rows, false]"


@pytest.mark.parametrize("path", ["shop.db", "shop.duckdb"])
async def test_a_plan_is_text(shop: Shop, path: str) -> None:
    text = await answer_of(shop[0], f'db.explain(path={path!r}, sql="SELECT * FROM orders WHERE id = 1")["plan"]')

    assert "orders" in text


async def test_a_table_that_does_not_exist_is_answered_with_the_nearest(shop: Shop) -> None:
    answer = await shop[0].runner.run('db.sample(path="shop.db", table="order")')

    assert answer.is_error
    assert "there is no table 'order'; did you mean orders?" in answer.text


async def test_what_is_no_database_is_said(shop: Shop) -> None:
    (shop[1] / "notes.txt").write_text("hello")

    answer = await shop[0].runner.run('db.tables(path="notes.txt")')

    assert "is not a database; these are supported: SQLite and DuckDB databases" in answer.text


async def test_many_rows_are_the_same_as_few(shop: Shop) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, 'row ' || i AS t, i / 2.0 AS h, CASE WHEN i % 2 THEN i END AS g FROM n"
    text = await answer_of(
        shop[0],
        f"""
found = db.query(path="shop.db", sql={many!r}, limit=15000)
assert found["rows"] == [{{"i": i, "t": f"row {{i}}", "h": i / 2, "g": i if i % 2 else None}} for i in range(1, 15001)]
sorted(found), found["more"], found["cut_by"]
""",
    )

    assert text == "[[changed, columns, cut_by, more, rows], true, rows]"


def test_a_result_ends_where_it_gets_too_large() -> None:
    fetched = iter([("x" * 1000,)] * 100)

    rows = collect(["a"], lambda count: list(islice(fetched, count)), Limits(rows=90, bytes=10_000))

    assert (len(rows.rows), rows.more, rows.cut_by) == (9, True, "bytes")


@pytest.mark.parametrize("in_use", [False, True])
async def test_a_file_in_wal_mode_is_read_whether_or_not_others_write(shop: Shop, *, in_use: bool) -> None:
    with closing(sqlite3.connect(shop[1] / f"wal-{in_use}.db")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE t (a)")
        writer.execute("INSERT INTO t VALUES (7)")
        writer.commit()
        if not in_use:
            writer.close()

        text = await answer_of(shop[0], f'db.query(path="wal-{in_use}.db", sql="SELECT a FROM t")["rows"]')

    assert text == "- {a: 7}"


@pytest.mark.parametrize("path", ["shop.db", "shop.duckdb", "orders.csv"])
async def test_rows_are_read_on_from_an_offset_until_there_are_no_more(shop: Shop, path: str) -> None:
    text = await answer_of(
        shop[0],
        f"""
parts = list(ot.pages(db.query, path={path!r}, sql="SELECT id FROM orders ORDER BY id", limit=2))
beyond = db.query(path={path!r}, sql="SELECT id FROM orders", offset=9)
([[row["id"] for row in part["rows"]] for part in parts], [part["more"] for part in parts], beyond["rows"], beyond["more"],
 len(db.query(path={path!r}, sql="SELECT * FROM orders", limit=None)["rows"]))
""",
    )

    assert text == "- [[1, 2], [3]]\n- [true, false]\n- []\n- false\n- 3"


def test_a_row_that_is_too_large_is_an_error() -> None:
    with pytest.raises(ToolError, match=r"row 3 alone has 50,008 bytes, and packs\.db\.max_bytes allows 10,000"):
        collect(["a"], lambda count: [("x" * 50_000,)] * count, Limits(rows=90, bytes=10_000, offset=2))


async def test_a_pivot_finds_its_columns(shop: Shop) -> None:
    for path in ("shop.duckdb", "orders.csv"):
        text = await answer_of(
            shop[0],
            f'db.query(path={path!r}, sql="PIVOT orders ON product USING sum(amount) GROUP BY id ORDER BY id")["rows"][0]',
        )

        assert text == "{id: 1, '1': 2, '3': null}"


async def test_a_csv_file_is_read_in_its_encoding_and_with_the_types_of_its_columns(shop: Shop) -> None:
    (shop[1] / "people.csv").write_bytes("name;zip;paid\nMüller €;00123;12.50\nÅsa;04567;0.10\n".encode("cp1252"))

    text = await answer_of(
        shop[0],
        """
sql = "SELECT name, zip, paid FROM people"
found = db.query(path="people.csv", sql=sql, encoding="cp1252", types={"paid": "DECIMAL(18, 2)"})["rows"]
total = db.query(path="people.csv", sql="SELECT sum(paid) AS s FROM people", encoding="cp1252", types={"paid": "DECIMAL(18, 2)"})
said = []
for options in ({}, {"encoding": "nonsense"}, {"encoding": "ascii"}, {"encoding": "cp1252", "types": {"pad": "INT"}}):
    try:
        db.query(path="people.csv", sql=sql, **options)
    except Exception as error:
        said.append(str(error))
assert "pass encoding=" in said[0] and "there is no encoding 'nonsense'" in said[1], said
assert "people.csv is not ascii" in said[2] and "`types` names columns that no file has: pad" in said[3], said
(found[0]["name"], found[0]["zip"], str(found[0]["paid"]), str(total["rows"][0]["s"]))
""",
    )

    assert text == "[Müller €, '00123', '12.50', '12.60']"
