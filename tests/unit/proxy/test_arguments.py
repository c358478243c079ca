"""Arguments reach another server as plain JSON."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ot.errors import ToolError
from ot.proxy.calls import plain_arguments
from ot_kernel.values import Image, Record


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.5, 1.5),
        ((1, {2}), [1, [2]]),
        ({"a": [date(2026, 1, 2)], 3: None}, {"a": ["2026-01-02"], "3": None}),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (timedelta(minutes=2), 120.0),
        (Decimal("3.00"), 3),
        (Decimal("0.5"), 0.5),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("/tmp/a"), "/tmp/a"),
        (Record("Point", {"x": 1}), {"x": 1}),
        (10**40, 10**40),
    ],
)
def test_what_json_can_say_is_said(value: Any, expected: Any) -> None:
    assert plain_arguments({"value": value}) == {"value": expected}


def loop() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": b"x"}, "value['a'] is of type bytes, which JSON cannot represent; give it as base64 text"),
        (Image(b"x"), "value is of type Image"),
        ([float("nan")], "value[0] is nan"),
        (Decimal("NaN"), "value is NaN"),
        (Decimal("Infinity"), "value is Infinity"),
        ({(1, 2): 3}, "a key of value is of type tuple"),
        (loop(), "nested more than"),
    ],
)
def test_what_json_cannot_say_is_named(value: Any, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        plain_arguments({"value": value})

    assert message in caught.value.message
