"""References lead to places of the same document, and nowhere else."""

from __future__ import annotations

import pytest

from mcp_core.json_types import look_up, resolve

ROOT = {
    "$defs": {
        "name": {"type": "string"},
        "a/b~c": {"type": "integer"},
        "chain": {"$ref": "#/$defs/name"},
        "circle": {"$ref": "#/$defs/circle"},
        "away": {"$ref": "https://example.org/schema.json"},
        "list": [{"type": "null"}],
    }
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/$defs/name", {"type": "string"}),
        ("#/$defs/a~1b~0c", {"type": "integer"}),
        ("#/$defs/missing", None),
        ("#/$defs/list/0", None),
        ("#name", None),
        ("#", None),
        ("https://example.org/schema.json#/$defs/name", None),
        (7, None),
    ],
    ids=str,
)
def test_a_pointer_names_a_place_of_the_document(reference: object, found: object) -> None:
    assert look_up(ROOT, reference) == found


@pytest.mark.parametrize(
    ("name", "found"), [("chain", {"type": "string"}), ("circle", None), ("away", None), ("missing", None)]
)
def test_chains_are_followed_to_their_end_if_they_have_one(name: str, found: object) -> None:
    assert resolve(ROOT, {"$ref": f"#/$defs/{name}"}) == found


def test_what_is_no_reference_is_given_back() -> None:
    assert [resolve(ROOT, given) for given in ({"type": "null"}, True, None)] == [{"type": "null"}, True, None]


def test_what_stands_beside_a_reference_counts_for_who_asks_for_it() -> None:
    schema = {"$ref": "#/$defs/chain", "type": "integer", "title": "A name"}

    assert resolve(ROOT, schema) == {"type": "string"}
    assert resolve(ROOT, schema, with_siblings=True) == {"type": "integer", "title": "A name"}
