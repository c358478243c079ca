"""db.query of 100,000 rows into code, against the driver alone that makes the same dicts."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.report import Line
from bench.servers import RUN, Servers, open_servers, run, warm_up

ROWS = 100_000
REPEATS = 7
TARGET = 3  # times the driver
_SQL = "SELECT * FROM sales"


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as own, own.start_ours() as server:
        file = own.folder / "sales.db"
        _write(file)
        warm_up(server, RUN)
        query = run(f"len(db.query(path='sales.db', sql={_SQL!r}, limit={ROWS})['rows'])")
        server.call(*query)
        ours = median(server.call(*query) for _ in range(REPEATS))
        driver = median(_fetch(file) for _ in range(REPEATS))
        yield Line(f"db.query of {ROWS:,} rows into code (SQLite)", ours, driver, "s", TARGET)


def _write(file: Path) -> None:
    with closing(sqlite3.connect(file)) as sales, sales:
        sales.execute("CREATE TABLE sales (id INTEGER, name TEXT, price REAL, day TEXT, amount INTEGER)")
        rows = ((number, f"name {number}", number / 2, "2026-01-02", number % 7) for number in range(ROWS))
        sales.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", rows)


def _fetch(file: Path) -> float:
    started = time.perf_counter()
    with closing(sqlite3.connect(file)) as sales:
        found = sales.execute(_SQL)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found]
    assert len(rows) == ROWS
    return time.perf_counter() - started
