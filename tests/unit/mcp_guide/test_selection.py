"""Which documents a wish finds, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_guide.errors import BadNameError, NotFoundError
from mcp_guide.guide import Guide
from mcp_guide.selection import Wish, select
from tests.unit.mcp_guide.guides import make_guide

DOCUMENTS = {
    "api/errors": "# Errors\n\nEvery failure has a code.\n",
    "api/versions": "# Versions\n\nAn API changes only in a new version.\n",
    "rules/naming": "---\ntitle: Naming\ntags: [style]\n---\nNames of tests are sentences.\n",
    "rules/testing": "# Testing\n\nWe test behaviour.\n\nNo sleeping in tests; wait for the thing.\n",
    "rules/API style": "# Style\n\nSee the versions.\n",
}


@pytest.fixture
def guide(tmp_path: Path) -> Guide:
    guide = make_guide(tmp_path, DOCUMENTS)
    guide.collections.set("all", description="", categories=["rules", "api"])
    guide.collections.set("some", description="", categories=["api"])
    return guide


def names(guide: Guide, wish: Wish) -> list[str]:
    return [str(summary.name) for summary, _ in select(guide, wish).found]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (Wish(), sorted(DOCUMENTS)),
        (Wish(category="api"), ["api/errors", "api/versions"]),
        (Wish(collection="some"), ["api/errors", "api/versions"]),
        (Wish(collection="all", category="api"), ["api/errors", "api/versions"]),
        (Wish(collection="some", category="rules"), []),
        (Wish(pattern="*ing"), ["rules/naming", "rules/testing"]),
        (Wish(pattern="api*"), ["rules/API style"]),
        (Wish(pattern="API/*.md"), ["api/errors", "api/versions"]),
        (Wish(pattern="*/e*"), ["api/errors"]),
        (Wish(pattern="[nt]*", category="rules"), ["rules/naming", "rules/testing"]),
        (Wish(pattern="../*"), []),
        (Wish(pattern="/etc/*"), []),
    ],
    ids=str,
)
def test_every_part_of_a_wish_narrows_the_choice(guide: Guide, wish: Wish, expected: list[str]) -> None:
    assert names(guide, wish) == expected


def test_a_collection_gives_its_own_order_of_categories(guide: Guide) -> None:
    assert names(guide, Wish(collection="all"))[0].startswith("rules/")


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("test", ["rules/testing", "rules/naming"]),
        ("TESTS", ["rules/testing", "rules/naming"]),
        ("style", ["rules/API style", "rules/naming"]),
        ("api version", ["api/versions", "rules/API style", "api/errors"]),
        ("wait", ["rules/testing"]),
        ("nothing here", []),
        ("?!", []),
    ],
)
def test_a_search_ranks_by_words_in_title_tags_description_and_text(
    guide: Guide, search: str, expected: list[str]
) -> None:
    assert names(guide, Wish(search=search))[: len(expected)] == expected
    assert bool(names(guide, Wish(search=search))) is bool(expected)


def test_common_words_say_little(tmp_path: Path) -> None:
    common = "How do we do it here, and what is it for?"
    guide = make_guide(tmp_path, {f"a/{n}": common for n in range(20)} | {"a/z": "Deployment is by tag."})

    assert names(guide, Wish(search="how do we do a deployment here"))[0] == "a/z"


def test_a_search_shows_the_line_that_fits(guide: Guide) -> None:
    [(_, match)] = select(guide, Wish(search="sleeping")).found

    assert match is not None
    assert match.line == "No sleeping in tests; wait for the thing."


def test_more_of_the_words_stand_before_more_of_one_word(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"a/apple": "apple " * 50, "a/other": "one apple, one pear"})

    assert names(guide, Wish(search="apple pear")) == ["a/other", "a/apple"]


@pytest.mark.parametrize("wish", [Wish(category="nowhere"), Wish(collection="nothing")])
def test_what_does_not_exist_is_told(guide: Guide, wish: Wish) -> None:
    with pytest.raises(NotFoundError):
        select(guide, wish)


@pytest.mark.parametrize("category", ["..", "../..", "/etc", "", ".", "api/../..", "a\0"])
def test_a_category_cannot_lead_elsewhere(guide: Guide, category: str) -> None:
    with pytest.raises(BadNameError):
        select(guide, Wish(category=category))


def test_documents_that_cannot_be_read_are_named(guide: Guide, tmp_path: Path) -> None:
    (tmp_path / ".guide/api/link.md").symlink_to("errors.md")

    assert [str(item.name) for item in select(guide, Wish(category="api")).unreadable] == ["api/link"]


def test_a_pattern_made_to_hurt_is_matched_at_once(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {f"a/{'a' * 190}": ""})

    assert names(guide, Wish(pattern="*a" * 99 + "b")) == []
