"""Devices by the names that people give them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import unhurried
from tests.unit.zwave_mcp.nodes import make_node, make_switch
from zwave_mcp.devices import find_device, fold
from zwave_mcp.errors import AmbiguousDeviceError, UnknownDeviceError

HOUSE = [
    make_node(2, "Lamp", "Kitchen", *make_switch(2)),
    make_node(3, "Lamp", "Hall"),
    make_node(4, "Kitchen", "Cellar"),
    make_node(5, "7", "Attic"),
    make_node(7, "", "Garage"),
    make_node(8, "Straße", "Außen"),
]


@pytest.mark.parametrize(
    ("wanted", "node"),
    [
        ("kitchen lamp", 2),
        ("Lamp (Hall)".replace("(", "").replace(")", ""), 3),
        ("hall-lamp", 3),
        ("kitchen", 4),  # its whole name, where another only has the word
        ("7", 5),  # a name before a number
        (7, 7),  # a number is a number
        ("node 7", 7),
        ("#7", 7),
        ("garage", 7),
        ("STRASSE", 8),
        ("ﬆraße außen".replace("ﬆ", "st"), 8),
    ],
)
def test_the_device_that_is_meant_is_found(wanted: str | int, node: int) -> None:
    assert find_device(wanted, HOUSE).id == node


def test_several_of_one_name_are_listed_with_place_and_ability() -> None:
    with pytest.raises(AmbiguousDeviceError) as ambiguous:
        find_device("LAMP", HOUSE)

    assert [(each.node, each.location, each.abilities) for each in ambiguous.value.candidates] == [
        (2, "Kitchen", ("switch",)),
        (3, "Hall", ()),
    ]


def test_an_unknown_name_gets_the_nearest_first() -> None:
    with pytest.raises(UnknownDeviceError) as unknown:
        find_device("kitchen lmap", HOUSE)

    assert unknown.value.nearest[0].node == 2
    assert len(unknown.value.nearest) <= 5


def test_in_an_empty_house_nothing_is_found() -> None:
    with pytest.raises(UnknownDeviceError) as unknown:
        find_device("lamp", [])

    assert (unknown.value.nearest, unknown.value.total) == ((), 0)


@unhurried
@given(st.one_of(st.text(max_size=30), st.integers()))
def test_any_text_finds_a_device_or_says_why_not(wanted: str | int) -> None:
    try:
        found = [find_device(wanted, HOUSE)]
    except UnknownDeviceError:
        found = []
    except AmbiguousDeviceError as ambiguous:
        found = [node for node in HOUSE if node.id in {each.node for each in ambiguous.candidates}]

    assert all(node in HOUSE for node in found)


@unhurried
@given(st.text(max_size=30))
def test_folding_a_folded_name_changes_nothing(name: str) -> None:
    assert fold(fold(name)) == fold(name)
