"""Which names can be asked for, and which can be created."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_guide.errors import BadNameError
from mcp_guide.names import DocumentName, check_name, check_new_name, find_nearest, fold_name, parse_document_name

ESCAPES = {
    "empty": "",
    "dot": ".",
    "dots": "..",
    "up": "../x",
    "up-at-the-end": "x/..",
    "absolute": "/etc/passwd",
    "windows-up": "..\\x",
    "windows-absolute": "C:\\x",
    "nul": "x\0",
    "newline": "x\ny",
    "hidden": ".git",
    "too-long": "x" * 201,
    "too-many-bytes": "ü" * 101,
    "surrogate": "\ud800",
}


@pytest.mark.parametrize("name", ESCAPES.values(), ids=ESCAPES.keys())
def test_a_name_that_is_more_than_one_step_is_refused(name: str) -> None:
    with pytest.raises(BadNameError):
        check_name("category", name)


@pytest.mark.parametrize(
    "name", [f"{part}/x" for part in ESCAPES.values()] + [f"x/{part}" for part in ESCAPES.values()]
)
def test_no_part_of_a_documents_name_leads_elsewhere(name: str) -> None:
    with pytest.raises(BadNameError) as caught:
        parse_document_name(name)

    assert caught.value.name == name


@pytest.mark.parametrize("name", ["C++", "what's new?", "v1 (old)", "Übersicht", "日本語", "a:b", "-rf", "~"])
def test_what_people_have_named_by_hand_can_be_asked_for(name: str) -> None:
    assert check_name("document", name) == name


@pytest.mark.parametrize(
    "name",
    ["a:b", "x ", "x.", "-rf", "CON", "nul", "com1", "lpt9.txt", "a*", "~", "$HOME", "u\u0308", "a\u202eb", "<b>"],
)
def test_a_name_that_some_system_cannot_store_is_not_created(name: str) -> None:
    with pytest.raises(BadNameError):
        check_new_name("document", name)


@pytest.mark.parametrize("name", ["naming", "API design", "v1.2", "a_b-c", "Übersicht", "日本語", "console", "7"])
def test_an_ordinary_name_can_be_created(name: str) -> None:
    assert check_new_name("document", name) == name


def test_a_new_category_is_lower_case() -> None:
    with pytest.raises(BadNameError, match="lower case"):
        check_new_name("category", "Rules")


@pytest.mark.parametrize("text", ["rules/naming", "rules/naming.md"])
def test_the_ending_of_a_document_may_be_left_out(text: str) -> None:
    name = parse_document_name(text)

    assert name == DocumentName("rules", "naming")
    assert (str(name), name.file) == ("rules/naming", "naming.md")


@given(st.text(max_size=30))
def test_whatever_can_be_asked_for_is_one_step_of_a_path(name: str) -> None:
    try:
        check_name("document", name)
    except BadNameError:
        return

    assert name not in ("", ".", "..")
    assert not set("/\\\0") & set(name)


@pytest.mark.parametrize("other", ["README", "ReadMe", "ｒｅａｄｍｅ"])
def test_names_that_are_one_on_some_system_have_one_form(other: str) -> None:
    assert fold_name(other) == fold_name("readme")


def test_the_nearest_name_comes_first() -> None:
    assert find_nearest("Testing", ["deployment", "tests", "testing"])[0] == "testing"
