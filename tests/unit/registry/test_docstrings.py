"""Google style docstrings in their parts."""

from __future__ import annotations

import pytest

from ot.registry.definitions import ToolDocs
from ot.registry.docstrings import parse_docstring


def test_all_parts_of_a_docstring_are_found() -> None:
    docs = parse_docstring(
        """Search the web,
        quickly.

        More about it.

        Args:
            query: What to look for,
                in any language.
            count (int): How many: at most 20.
            **options: Passed on.

        Returns:
            Titles and
            addresses.

        Raises:
            ToolError: when it fails.

        Example:
            web.search(query="x")
            for y in z:
                print(y)
        """
    )

    assert docs == ToolDocs(
        summary="Search the web, quickly.",
        arguments={
            "query": "What to look for, in any language.",
            "count": "How many: at most 20.",
            "options": "Passed on.",
        },
        returns="Titles and addresses.",
        example='web.search(query="x")\nfor y in z:\n    print(y)',
        body="More about it.",
    )


@pytest.mark.parametrize("text", [None, "", "   \n  "], ids=["none", "empty", "blank"])
def test_no_docstring_is_an_empty_one(text: str | None) -> None:
    assert parse_docstring(text) == ToolDocs()


def test_a_section_may_begin_on_its_own_line_and_text_may_follow() -> None:
    docs = parse_docstring("Do it.\n\nReturns: a number\n\nLast words: none.")

    assert (docs.returns, docs.body) == ("a number", "Last words: none.")
