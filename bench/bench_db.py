"""db.query of 100,000 rows into code, and db.load of 80,000 from it, against the driver alone with the same dicts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.report import Line, compare_rounds
from bench.servers import RUN, Servers, open_servers, run, warm_up

ROWS = 100_000
REPEATS = 7
TARGET = 3  # times the driver
LOADED = 80_000
TARGET_LOADED = 4  # times the driver
_CREATE = "CREATE TABLE sales (id INTEGER, name TEXT, price REAL, day TEXT, amount INTEGER)"
_INSERT = "INSERT INTO sales VALUES (?, ?, ?, ?, ?)"
_SQL = "SELECT * FROM sales"


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as own:
        own.enable_demo(more="policy: {allow: [db.load]}\n")
        yield from _measure(own)


def _measure(own: Servers) -> Iterator[Line]:
    with own.start_ours() as server:
        file = own.folder / "sales.db"
        _write(file)
        warm_up(server, RUN)
        query = run(f"len(db.query(path='sales.db', sql={_SQL!r}, limit={ROWS})['rows'])")
        server.call(*query)
        ours = median(server.call(*query) for _ in range(REPEATS))
        driver = median(_fetch(file) for _ in range(REPEATS))
        yield Line(f"db.query of {ROWS:,} rows into code (SQLite)", ours, driver, "s", TARGET)
        rows = f"rows = db.query(path='sales.db', sql={_SQL!r}, limit={LOADED})['rows']"
        read, times = run(f"{rows}\nlen(rows)"), []
        for number in range(REPEATS):
            load = run(f"{rows}\ndb.load(path='new{number}.db', table='sales', rows=rows)['rows']")
            times.append((server.call(*load) - server.call(*read), _insert(own.folder / f"bare{number}.db")))
        yield compare_rounds(f"db.load of {LOADED:,} rows from code (SQLite)", times, "s", TARGET_LOADED)


def _write(file: Path) -> None:
    with closing(sqlite3.connect(file)) as sales, sales:
        sales.execute(_CREATE)
        rows = ((number, f"name {number}", number / 2, "2026-01-02", number % 7) for number in range(ROWS))
        sales.executemany(_INSERT, rows)


def _insert(file: Path) -> float:
    rows = [
        {"id": number, "name": f"name {number}", "price": number / 2, "day": "2026-01-02", "amount": number % 7}
        for number in range(LOADED)
    ]
    started = time.perf_counter()
    with closing(sqlite3.connect(file)) as sales, sales:
        sales.execute(_CREATE)
        sales.executemany(_INSERT, [tuple(row.values()) for row in rows])
    return time.perf_counter() - started


def _fetch(file: Path) -> float:
    started = time.perf_counter()
    with closing(sqlite3.connect(file)) as sales:
        found = sales.execute(_SQL)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found]
    assert len(rows) == ROWS
    return time.perf_counter() - started
