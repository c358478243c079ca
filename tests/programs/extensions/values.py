"""Returns what JSON has no form for, what has no form at all, and values that are forged."""

import datetime
import decimal
import os
import pathlib
from dataclasses import dataclass

import ot_sdk
from ot_sdk.host import CURRENT


@dataclass
class Point:
    x: int


def give(*, kind: str) -> object:
    values = {
        "set": {1},
        "tuple": (1, 2),
        "date": {"days": [1, datetime.date(2024, 2, 29)]},
        "decimal": decimal.Decimal("1.10"),
        "bytes": [b"\x00x"],
        "path": pathlib.Path("/x"),
        "record": {"inner": Point(1)},
        "key": {"years": {2024: 1}},
        "image": ot_sdk.Image(b"\x89PNG", "image/png"),
        "lookalike": {"$": "image", "v": ["", ""]},
        "function": print,
    }
    return values[kind]


def echo(*, value: object) -> object:
    return value


def kind_of(*, value: object) -> str:
    return type(value).__name__


def ask(*, tool: str, value: object) -> str:
    return type(ot_sdk.call(tool, value=value)).__name__


def forge(*, value: str) -> str:
    """Answer this very call with a line of its own, where ot_sdk would have encoded the value."""
    line = b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (CURRENT.get().number, value.encode())
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}").startswith("pipe"):
                os.write(int(name), line)
        except OSError:
            pass
    return "answered"


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
