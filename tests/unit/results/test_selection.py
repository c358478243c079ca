"""Paths into a structure: what they lead to, and how a wrong one is told."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from ot.errors import ToolError
from ot.results.selection import select
from ot_kernel.values import Record

VALUE: Any = {
    "items": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": ["b", "c"]}],
    "a key": {"n": [10, 20, 30]},
    "rec": Record("Row", {"name": "x"}),
    "by number": {7: "seven", date(2024, 1, 2): "a day"},
    "odd'\"key": 1,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("items[*].id", [1, 2]),
        ("items[*].tags[*]", ["a", "b", "c"]),
        ("items[*].tags[0]", ["a", "b"]),
        ("items[-1].id", 2),
        ("items[1:]", [{"id": 2, "tags": ["b", "c"]}]),
        ("items[:1][*].id", [1]),
        ('["a key"].n[-2:]', [20, 30]),
        ("['a key'].n[ 1 ]", 20),
        ("rec.name", "x"),
        ("['by number'][7]", "seven"),
        ("['by number']['2024-01-02']", "a day"),
        ("['odd\\'\"key']", 1),
        ("$.items[0].id", 1),
        (".items[0].id", 1),
        ("items.*.id", [1, 2]),
        ("", VALUE),
    ],
)
def test_a_path_leads_to_a_part(path: str, found: Any) -> None:
    assert select(VALUE, path).value == found


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("item", "the result has no 'item'; it has items, a key, rec, by number, odd'\"key (position 1 of 'item')"),
        ("items.id", "items is a list, which has no field 'id'; [*] goes through its items (position 6"),
        ("items[9]", "items has 2 items, and none at 9 (position 6"),
        ("items[*].name", "items[*] has no 'name'; it has id, tags (position 9"),
        ("items[0].id.x", "items[0].id is an int, which has no field 'x' (position 12"),
        ("items[0].id[*]", "items[0].id has no items: it is an int"),
        ("items[", "cannot read '[' at position 6"),
        ("items[*]id", "cannot read 'id' at position 9"),
        ("a..b", "cannot read '..b' at position 2"),
        ("items[x]", "cannot read '[x]' at position 6"),
        ("x" * 2000, "it has 2,000 characters; the maximum is 1000"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_where_it_ends(path: str, told: str) -> None:
    with pytest.raises(ToolError) as raised:
        select(VALUE, path)

    assert told in raised.value.message
