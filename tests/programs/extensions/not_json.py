"""Returns what has no form in JSON."""

import datetime
import pathlib
from dataclasses import dataclass


@dataclass
class Point:
    x: int


def give(*, kind: str) -> object:
    values = {
        "set": {1},
        "date": {"days": [1, datetime.date(2024, 2, 29)]},
        "bytes": [b"x"],
        "path": pathlib.Path("/x"),
        "object": {"inner": Point(1)},
        "key": {"years": {2024: 1}},
        "function": print,
    }
    return values[kind]


def circle() -> object:
    items = []
    items.append(items)
    return items


def endless() -> object:
    n = 0
    while True:
        yield n
        n += 1


def few() -> object:
    yield from range(3)
