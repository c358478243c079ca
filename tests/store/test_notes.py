"""Notes of people: what the file of one machine does with them, the shared store does too, for each person alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ot.errors import ToolError
from ot_packs.full_text import read_query
from ot_packs.notes.store import Draft, NoteFilter, Notes, open_notes
from tests.store.conftest import BOTH, EMBEDDED

EVERYTHING = NoteFilter("", "", 50, 0)


@pytest.fixture(params=BOTH)
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Notes]:
    with ExitStack() as stack:
        if request.param == EMBEDDED:
            yield stack.enter_context(open_notes(tmp_path))
            return
        from ot.store.postgres.link import PostgresLink
        from ot_packs.notes.postgres_store import PostgresNotes

        link = stack.enter_context(closing(PostgresLink(request.getfixturevalue("database"))))
        PostgresNotes(link, "mallory").write(draft("deploy", "not yours"), replace=True)
        yield PostgresNotes(link, request.node.name)


def draft(title: str, content: str, *tags: str, project: str = "/shop", plain: bool = True) -> Draft:
    return Draft(project, title, content, plain, tags, frozenset({"web.fetch"}))


def test_a_note_is_given_back_as_it_was_written(notes: Notes) -> None:
    written, replaced = notes.write(draft("How to deploy", "make release; é😀", "release"), replace=False)
    [found] = notes.find(number=0, title="How to deploy", project="/shop")

    assert (found, replaced) == (written, False)
    assert (found.tags, found.characters, found.read_before) == (["release"], 16, frozenset({"web.fetch"}))
    assert notes.content_of(found) == "make release; é😀"
    data, _ = notes.write(draft("data", '{"a": [1]}', plain=False), replace=False)
    assert notes.content_of(data) == {"a": [1]}


def test_characters_that_no_name_has_are_kept_in_a_note_and_find_none(notes: Notes) -> None:
    written, _ = notes.write(draft("odd", "a\0b"), replace=False)

    assert notes.content_of(written) == "a\0b"
    assert notes.find(number=0, title="a\0b", project="/shop") == []
    assert notes.list_page(NoteFilter("", "a\0b", 50, 0)) == ([], 0)
    assert notes.search_page(read_query("odd"), NoteFilter("", "a\0b", 50, 0)) == ([], 0)


def test_a_title_is_taken_once_unless_it_is_to_be_replaced(notes: Notes) -> None:
    first, _ = notes.write(draft("t", "first"), replace=False)
    with pytest.raises(ToolError, match="there is already a note 't'"):
        notes.write(draft("t", "second"), replace=False)
    again, replaced = notes.write(draft("t", "second"), replace=True)

    assert (again.number, again.created, replaced) == (first.number, first.created, True)
    assert notes.content_of(first) == "second"
    assert notes.search_page(read_query("first"), EVERYTHING)[1] == 0


def test_notes_are_found_by_their_words_the_best_first(notes: Notes) -> None:
    notes.write(draft("Café", "where we met"), replace=False)
    notes.write(draft("other", "the cafe is mentioned in passing; parse_header too", "ops"), replace=False)
    notes.write(draft("third", "nothing of it"), replace=False)

    for query, titles in {
        "cafes": ["Café", "other"],
        "the": ["other"],
        "parse_header": ["other"],
        "header_parse": [],
        "café met": ["Café"],
        "met passing": ["Café", "other"],
        "ops": ["other"],
        "absent": [],
        "' & ! | :*": [],
    }.items():
        terms = read_query(query)
        found, total = notes.search_page(terms, EVERYTHING) if terms else ([], 0)
        assert (sorted(note.title for note in found), total) == (sorted(titles), len(titles)), query
    best, _ = notes.search_page(read_query("cafe"), EVERYTHING)
    assert best[0].title == "Café"
    assert "mentioned" in notes.search_page(read_query("mentioned"), EVERYTHING)[0][0].excerpt


def test_pages_tags_and_projects(notes: Notes) -> None:
    for number in range(3):
        notes.write(draft(f"n{number}", "x", *(["even"] if number % 2 == 0 else [])), replace=False)
    notes.write(draft("n0", "of another", project="/other"), replace=False)

    assert [note.title for note in notes.list_page(NoteFilter("/shop", "", 2, 1))[0]] == ["n1", "n0"]
    assert notes.list_page(NoteFilter("", "even", 1, 0))[1] == 2
    assert [note.project for note in notes.find(number=0, title="n0", project="/third")] == ["/other", "/shop"]
    [note] = notes.find(number=0, title="n0", project="/other")
    notes.delete(note)
    notes.delete(note)
    assert notes.find(number=note.number, title="", project="") == []
    with pytest.raises(ToolError, match="just been deleted"):
        notes.content_of(note)


def test_the_notes_of_another_do_not_exist(notes: Notes) -> None:
    assert notes.list_page(EVERYTHING) == ([], 0)
    assert notes.search_page(read_query("yours deploy"), EVERYTHING) == ([], 0)
    assert notes.find(number=1, title="", project="/shop") == []
    assert notes.find(number=0, title="deploy", project="/shop") == []
