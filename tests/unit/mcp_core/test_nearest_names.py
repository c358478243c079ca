"""Names ordered by nearness."""

from __future__ import annotations

import pytest

from mcp_core.nearest_names import nearest


@pytest.mark.parametrize(
    ("wanted", "first"),
    [("uper", "upper"), ("UPPER", "upper"), ("websearch", "web_search"), ("search", "web_search"), ("slep", "sleep")],
)
def test_the_nearest_name_comes_first(wanted: str, first: str) -> None:
    names = ["bar", "busy", "foo", "sleep", "upper", "web_search"]

    found = nearest(wanted, names)

    assert found[0] == first
    assert sorted(found) == names


def test_only_the_beginning_of_a_long_name_counts() -> None:
    assert nearest("upper" * 200_000, ["bar", "uppers"]) == nearest("upper" * 40, ["bar", "uppers"])


def test_nothing_to_compare_is_no_problem() -> None:
    assert nearest("", ["b", "a"]) == ["a", "b"]
    assert nearest("x", []) == []
