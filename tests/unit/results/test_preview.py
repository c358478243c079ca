"""The text in place of a long result: short whatever is in it, and enough to go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ot.results.store import MOST_BYTES, Stored, word_stored
from ot.results.stored_file import Facts
from tests.unit.results.stores import open_store


@pytest.mark.parametrize(
    ("value", "type_name", "lines", "note"),
    [
        ("x" * 100_000, "str", 1, "[The beginning of line 1 of 1. Read on: ot.result(handle="),
        ("\n".join(f"line {n}" for n in range(9000)), "str", 9000, "[Lines 1-"),
        ([{"id": n} for n in range(9000)], "list", 9000, "[Lines 1-"),
        ({"rows": list(range(9000))}, "dict", 1, "[The beginning of line 1 of 1."),
        ("€" * 100_000, "str", 1, "[The beginning"),
        ("\ud800" * 100_000, "str", 1, "[The beginning"),
        (["x" * 100_000, "y"], "list", 2, "[The beginning of line 1 of 2."),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_it_says_what_it_is_how_it_begins_and_how_to_read_on(
    tmp_path: Path, value: Any, type_name: str, lines: int, note: str
) -> None:
    stored = await open_store(tmp_path).keep_value(value)

    text = word_stored(stored, value)

    first, *preview, last = text.split("\n")
    assert yaml.safe_load(first) == {
        "handle": stored.handle,
        "type": type_name,
        "size": stored.facts.size,
        "lines": lines,
    }
    assert len(text.encode()) <= MOST_BYTES
    assert len("\n".join(preview)) > 500
    assert last.startswith(note)
    assert f'ot.load(handle="{stored.handle}")' in last
    assert last.endswith("Kept for 1 hour.]")


def test_a_line_of_which_only_the_beginning_is_at_hand_is_not_called_whole() -> None:
    stored = Stored("abcdefghjk", Facts("value", "dict", 10**6, 3, 0, 90))

    text = word_stored(stored, {"rows": [1, 2, 3]}, partial=True)

    assert "rows: [1, 2, 3]…\n[The beginning of line 1 of 2." in text


def test_read_on_begins_where_the_preview_ends() -> None:
    stored = Stored("abcdefghjk", Facts("text", "str", 10**6, 9999, 0, 90, partial=True))

    text = word_stored(stored, "\n".join(f"line {n}" for n in range(1, 10_001)))

    last_shown = int(text.split("\n")[-2].removeprefix("line "))
    assert f"[Lines 1-{last_shown} of 10,000." in text
    assert f"offset={last_shown + 1})" in text
    assert "Kept for 1.5 minutes." in text


@given(
    st.recursive(
        st.text() | st.binary() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_it_begins_with_it_is_short_and_can_be_sent(head: Any) -> None:
    stored = Stored("abcdefghjk", Facts("value", "list", 10**9, 10**6, 0, 3600))

    assert len(word_stored(stored, head).encode()) <= MOST_BYTES
