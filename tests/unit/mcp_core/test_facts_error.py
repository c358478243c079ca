"""Errors that list their facts as fields."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_core.facts_error import FactsError


class BaseError(FactsError):
    place: str


class TooLongError(BaseError):
    words: Sequence[str]
    limit: int = 10


def test_facts_are_given_by_position_or_by_name_and_the_inherited_ones_come_first() -> None:
    error = TooLongError("line 1", ["a", "b"])

    assert (error.place, error.words, error.limit) == ("line 1", ("a", "b"), 10)
    assert vars(TooLongError("line 1", words=["a"], limit=1)) == {"place": "line 1", "words": ("a",), "limit": 1}


def test_its_own_text_is_what_was_given_by_position() -> None:
    assert str(BaseError("line 1")) == "line 1"
    assert TooLongError("line 1", words=[]).args == ("line 1",)
