"""An alias is followed until it names a tool; a circle is named with its way round."""

from __future__ import annotations

import pytest

from ot_kernel.compiler import AliasCycle, resolve


def test_an_alias_leads_to_its_tool_through_any_number_of_others() -> None:
    chain = {f"a{n}": f"a{n + 1}" for n in range(500)} | {"a500": "demo.upper"}

    assert resolve("a500", chain) == resolve("a0", chain) == "demo.upper"


@pytest.mark.parametrize(
    ("aliases", "way"),
    [
        ({"a": "a"}, ["a", "a"]),
        ({"a": "b", "b": "a"}, ["a", "b", "a"]),
        ({"a": "b", "b": "c", "c": "b"}, ["a", "b", "c", "b"]),
    ],
)
def test_a_circle_is_named_with_its_way_round(aliases: dict[str, str], way: list[str]) -> None:
    with pytest.raises(AliasCycle) as caught:
        resolve("a", aliases)

    assert caught.value.names == way
