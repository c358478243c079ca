"""Tasks on a database: a shop whose revenue SQL tells, and whose customers were entered twice with typing errors."""

from __future__ import annotations

import ast
import difflib
import random
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import combinations
from pathlib import Path

from bench.tasks.task import DirectCalls, Runs, Task

_CITIES = {"Vienna": "AT", "Graz": "AT", "Berlin": "DE", "Hamburg": "DE", "Zurich": "CH", "Milan": "IT", "Turin": "IT"}
_FIRST = ("Anna", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Katja", "Lukas")
_LAST = ("Albrecht", "Baumgartner", "Castellani", "Dornbusch", "Eichinger", "Fontana", "Grillparzer", "Hofstetter")
_ALIKE = 0.9  # of 1: a name with a letter left out is more alike than that, any two of these names less

Customer = tuple[int, str, str, str]
Order = tuple[int, int, str, int]


def prepare(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "database.db")) as database:
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT)")
        database.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, ordered TEXT, cents INTEGER)"
        )
        database.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", _CUSTOMERS)
        database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", _ORDERS)
        database.commit()


def _make_customers() -> tuple[list[Customer], dict[int, int]]:
    """All of them, and those who are there twice: the later entry, and the earlier one."""
    chance = random.Random(1)
    people = [(f"{first} {last}", city) for first in _FIRST for last in _LAST for city in _CITIES]
    rows = chance.sample(people, 144)
    twice = {}
    for earlier in range(4, 64, 10):
        name, city = rows[earlier - 1]
        gap = chance.randrange(2, len(name) - 2)
        rows.append((name[:gap] + name[gap + 1 :], city))
        twice[len(rows)] = earlier
    return [(number, name, city, _CITIES[city]) for number, (name, city) in enumerate(rows, 1)], twice


def _make_orders() -> list[Order]:
    chance = random.Random(2)
    days = [f"2026-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 29)]
    return [
        (number, chance.randrange(1, 151), chance.choice(days), chance.randrange(500, 40_000))
        for number in range(1, 701)
    ]


_CUSTOMERS, _TWICE = _make_customers()
_ORDERS = _make_orders()


def _best_countries() -> str:
    countries = {number: country for number, _, _, country in _CUSTOMERS}
    revenue: Counter[str] = Counter()
    for _, customer, day, cents in _ORDERS:
        if "2026-07-01" <= day < "2026-10-01":
            revenue[countries[customer]] += cents
    return _show_revenue(revenue.most_common(3))


def _show_revenue(rows: list[tuple[str, int]]) -> str:
    return ", ".join(f"{country} {cents / 100:.2f}" for country, cents in rows)


_REVENUE = (
    "SELECT c.country, SUM(o.cents) AS cents FROM orders o JOIN customers c ON c.id = o.customer_id "
    "WHERE o.ordered >= '2026-07-01' AND o.ordered < '2026-10-01' GROUP BY c.country ORDER BY cents DESC LIMIT 3"
)


async def _revenue_directly(servers: DirectCalls) -> str:
    await servers.call(("sqlite", "list_tables", {}))
    await servers.call(*(("sqlite", "describe_table", {"table_name": table}) for table in ("customers", "orders")))
    [text] = await servers.call(("sqlite", "read_query", {"query": _REVENUE}))
    return _show_revenue([(row["country"], row["cents"]) for row in ast.literal_eval(text)])


async def _revenue_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="SQLite: list and describe tables, SELECT")')
    await onetool.fail(
        """tables = [row["name"] for row in sqlite.list_tables()]
{table: sqlite.describe_table(table) for table in tables}"""
    )
    await onetool.run(
        """import ast
tables = [row["name"] for row in ast.literal_eval(sqlite.list_tables())]
{table: [column["name"] for column in ast.literal_eval(sqlite.describe_table(table))] for table in tables}"""
    )
    return await onetool.run(
        f'''import ast
rows = ast.literal_eval(sqlite.read_query(query="""{_REVENUE}"""))
", ".join(f"{{row['country']}} {{row['cents'] / 100:.2f}}" for row in rows)'''
    )


def _find_twice(customers: list[dict[str, str]]) -> str:
    pairs = [
        f"{later['id']} is {earlier['id']}"
        for earlier, later in combinations(customers, 2)
        if earlier["city"] == later["city"]
        and difflib.SequenceMatcher(None, earlier["name"], later["name"]).ratio() > _ALIKE
    ]
    return ", ".join(pairs)


async def _merge_directly(servers: DirectCalls) -> str:
    await servers.call(("sqlite", "list_tables", {}))
    await servers.call(*(("sqlite", "describe_table", {"table_name": table}) for table in ("customers", "orders")))
    [text] = await servers.call(("sqlite", "read_query", {"query": "SELECT id, name, city FROM customers ORDER BY id"}))
    answer = _find_twice(ast.literal_eval(text))
    pairs = [pair.split(" is ") for pair in answer.split(", ")]
    cases = " ".join(f"WHEN {later} THEN {earlier}" for later, earlier in pairs)
    which = ", ".join(later for later, _ in pairs)
    change = f"UPDATE orders SET customer_id = CASE customer_id {cases} END WHERE customer_id IN ({which})"
    await servers.call(("sqlite", "write_query", {"query": change}))
    return answer


async def _merge_through_run(onetool: Runs) -> str:
    await onetool.run('ot.tools(pattern="sqlite")')
    await onetool.fail('[row["name"] for row in sqlite.list_tables()]')
    await onetool.run('[sqlite.list_tables(), *(sqlite.describe_table(t) for t in ("customers", "orders"))]')
    return await onetool.run(
        """import ast, difflib
from itertools import combinations
rows = ast.literal_eval(sqlite.read_query("SELECT id, name, city FROM customers ORDER BY id"))
pairs = [(b["id"], a["id"]) for a, b in combinations(rows, 2)
         if a["city"] == b["city"] and difflib.SequenceMatcher(None, a["name"], b["name"]).ratio() > 0.9]
for later, earlier in pairs:
    sqlite.write_query(f"UPDATE orders SET customer_id = {earlier} WHERE customer_id = {later}")
", ".join(f"{later} is {earlier}" for later, earlier in pairs)"""
    )


def _owners(folder: Path) -> dict[int, int]:
    """Whose each order is."""
    with closing(sqlite3.connect(folder / "database.db")) as database:
        return dict(database.execute("SELECT id, customer_id FROM orders").fetchall())


TASKS = (
    Task(
        name="database: revenue by country",
        question="Which three countries brought the most revenue in the third quarter of 2026, and how much each?",
        servers=("sqlite",),
        expected=_best_countries(),
        direct=_revenue_directly,
        through_run=_revenue_through_run,
    ),
    Task(
        name="database: customers entered twice",
        question="Some customers were entered a second time with a typing error in their name, in the same city. "
        "Find them, and give the orders of the later entry to the earlier one.",
        servers=("sqlite",),
        expected=", ".join(
            f"{later} is {earlier}" for later, earlier in sorted(_TWICE.items(), key=lambda pair: pair[1])
        ),
        direct=_merge_directly,
        through_run=_merge_through_run,
        left=_owners,
        expected_left={number: _TWICE.get(customer, customer) for number, customer, _, _ in _ORDERS},
    ),
)
