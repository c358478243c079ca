"""What is known of documents, and how they come and go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_guide.documents import SIZE_LIMIT, Document, Unreadable
from mcp_guide.errors import (
    BadNameError,
    ExistsError,
    GuideError,
    NotFoundError,
    TooLargeError,
    UnreadableError,
    YamlError,
)
from mcp_guide.names import DocumentName
from tests.unit.mcp_guide.guides import make_guide

NAMING = DocumentName("rules", "naming")


@pytest.mark.parametrize(
    ("text", "title", "description"),
    [
        ("---\ntitle: T\ndescription: D\n---\n# Other\n\nText.\n", "T", "D"),
        ("# Naming things\n\nShort names\nwin.\n\nMore.\n", "Naming things", "Short names win."),
        ("Naming\n======\n\nShort names win.\n", "Naming", "Short names win."),
        ("```\n# not a heading\n```\n\n## Real ##\n\n- a list\n\nThe text.", "Real", "The text."),
        ("Only text.", "naming", "Only text."),
        ("", "naming", ""),
        ("# A\n\n" + "word " * 100, "A", ("word " * 40).strip() + "…"),
        ("---\ntitle: [\n---\n# Broken\n\nText.", "Broken", "Text."),
        ("\ufeff---\ntitle: Marked\n---\n", "Marked", ""),
    ],
    ids=[
        "front-matter",
        "heading",
        "underlined",
        "after-code",
        "only-text",
        "empty",
        "long",
        "broken",
        "byte-order-mark",
    ],
)
def test_a_document_has_a_title_and_a_description(tmp_path: Path, text: str, title: str, description: str) -> None:
    guide = make_guide(tmp_path, {"rules/naming": text})

    summary = guide.documents.read(NAMING).summary

    assert (summary.title, summary.description) == (title, description)


def test_broken_front_matter_is_told_and_the_document_is_read_all_the_same(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": "---\ntitle: [\n---\nThe text."})

    document = guide.documents.read(NAMING)

    assert document.body == "The text."
    assert document.summary.problem is not None
    assert document.summary.problem.line == 3


def test_a_document_in_another_encoding_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": ""})
    (tmp_path / ".guide/rules/naming.md").write_bytes(b"Stra\xdfe")

    assert guide.documents.read(NAMING).text == "Stra\N{REPLACEMENT CHARACTER}e"


def test_what_is_created_can_be_read(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/other": ""})

    created = guide.documents.create(NAMING, "# Naming\n\nShort.", replace=False)

    assert guide.documents.read(NAMING) == created
    assert (tmp_path / ".guide/rules/naming.md").read_text() == "# Naming\n\nShort."


def test_a_document_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": "before"})

    with pytest.raises(ExistsError):
        guide.documents.create(NAMING, "after", replace=False)
    assert guide.documents.read(NAMING).text == "before"

    guide.documents.create(NAMING, "after", replace=True)
    assert guide.documents.read(NAMING).text == "after"


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("name", ["Naming", "NAMING", "ｎａｍｉｎｇ"])
def test_a_name_that_differs_only_in_case_is_taken(tmp_path: Path, name: str, *, replace: bool) -> None:
    guide = make_guide(tmp_path, {"rules/naming": "before"})

    with pytest.raises(ExistsError) as caught:
        guide.documents.create(DocumentName("rules", name), "after", replace=replace)

    assert caught.value.name == "rules/naming"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        (DocumentName("rules", "a:b"), "x", BadNameError),
        (DocumentName("rules", "../up"), "x", BadNameError),
        (DocumentName("..", "up"), "x", BadNameError),
        (DocumentName("nowhere", "naming"), "x", NotFoundError),
        (NAMING, "x" * (SIZE_LIMIT + 1), TooLargeError),
        (NAMING, "---\ntitle: [\n---\n", YamlError),
    ],
    ids=["bad-name", "name-up", "category-up", "no-category", "too-large", "front-matter"],
)
def test_what_cannot_be_created_leaves_nothing_behind(
    tmp_path: Path, name: DocumentName, text: str, error: type[GuideError]
) -> None:
    guide = make_guide(tmp_path, {"rules/other": ""})
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(error):
        guide.documents.create(name, text, replace=True)

    assert sorted(tmp_path.rglob("*")) == before


def test_without_a_guide_nothing_is_made_for_a_document(tmp_path: Path) -> None:
    guide = make_guide(tmp_path)

    with pytest.raises(NotFoundError):
        guide.documents.create(NAMING, "x", replace=False)

    assert list(tmp_path.iterdir()) == []


def test_a_removed_document_is_gone(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": "x"})

    guide.documents.remove(NAMING)

    with pytest.raises(NotFoundError):
        guide.documents.read(NAMING)
    with pytest.raises(NotFoundError):
        guide.documents.remove(NAMING)


def test_an_unknown_document_comes_with_the_nearest_ones(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": "", "rules/layers": ""})

    with pytest.raises(NotFoundError) as caught:
        guide.documents.read(DocumentName("rules", "nameing"))

    assert caught.value.nearest[0] == "rules/naming"


def test_an_unknown_category_comes_with_the_nearest_ones(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": ""})

    with pytest.raises(NotFoundError) as caught:
        guide.documents.read(DocumentName("rule", "naming"))

    assert (caught.value.kind, caught.value.nearest) == ("category", ("rules",))


def test_a_walk_passes_over_what_is_no_document_and_tells_what_cannot_be_read(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/b": "", "rules/a": "", "rules/.hidden": "", "rules/inner/deep": ""})
    rules = tmp_path / ".guide/rules"
    (rules / "notes.txt").touch()
    (rules / "huge.md").write_bytes(b"x" * (SIZE_LIMIT + 1))
    (rules / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(rules / "pipe.md")

    found = list(guide.documents.walk("rules"))

    assert [item.summary.name.name for item in found if isinstance(item, Document)] == ["a", "b"]
    assert {item.name.name: type(item.reason) for item in found if isinstance(item, Unreadable)} == {
        "huge": TooLargeError,
        "link": UnreadableError,
        "pipe": UnreadableError,
    }


def test_a_category_that_is_a_link_does_not_exist(tmp_path: Path) -> None:
    guide = make_guide(tmp_path, {"rules/naming": ""})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (tmp_path / ".guide/linked").symlink_to(outside)

    with pytest.raises(NotFoundError):
        guide.documents.read(DocumentName("linked", "secret"))
    with pytest.raises(NotFoundError):
        guide.documents.create(DocumentName("linked", "new"), "x", replace=False)
    with pytest.raises(NotFoundError):
        guide.documents.remove(DocumentName("linked", "secret"))
    assert guide.folder.category_names() == ["rules"]
    assert [path.name for path in outside.iterdir()] == ["secret.md"]
