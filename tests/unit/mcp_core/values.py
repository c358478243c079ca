"""Values that tools may return, for tests: ordinary, odd and hostile ones."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr, field_serializer


class Colour(Enum):
    RED = "red"
    NESTED = (1, {"deep"})


class Size(IntEnum):
    BIG = 9


@dataclass
class Box:
    content: Any


class Account(BaseModel):
    owner: str
    password: SecretStr = SecretStr("hunter2")
    other: Any = None


class Stamped(BaseModel):
    at: datetime

    @field_serializer("at")
    def _year(self, at: datetime) -> int:
        return at.year


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - the older form must work too


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("not telling")


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


anything = st.recursive(
    st.none()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.datetimes()
    | st.timedeltas()
    | st.decimals()
    | st.fractions()
    | st.complex_numbers()
    | st.uuids()
    | st.sampled_from([Mute, object]).map(lambda kind: kind())  # made late: hypothesis prints what it samples
    | st.sampled_from([Colour.RED, Exception("\udfff"), print, int, ...]),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(iter)
        | st.dictionaries(st.integers() | st.text() | st.binary() | st.none() | st.floats(), inner)
        | st.frozensets(st.integers() | st.text())
        | inner.map(Box)
        | st.tuples(inner, inner).map(lambda pair: Pair(*pair))
    ),
    max_leaves=20,
)
