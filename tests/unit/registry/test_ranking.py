"""Which tools fit a request: order, several needs at once, data between the words, misspellings, and hostile input."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.registry.ranking.index import LONGEST, MOST, Hit, ToolIndex, split_needs
from ot.registry.ranking.postings import Searchable, read_parameters
from ot.registry.ranking.words import read_words, stem
from ot.store.shelf import Shelf
from tests.properties import unhurried

TOOLS = [
    Searchable("files.read_text", "files", "read_text", "Read a text file whole.", "path Where the file is."),
    Searchable("files.write_text", "files", "write_text", "Write text to a file, replacing what was there."),
    Searchable("files.list_directory", "files", "list_directory", "List what a directory holds."),
    Searchable("files.delete", "files", "delete", "Remove a file for good."),
    Searchable("HackerNews.get_top", "HackerNews", "get_top", "The stories most people voted for."),
    Searchable("HackerNews.get_user", "HackerNews", "get_user", "One person's profile."),
    Searchable("tracker.get_user", "tracker", "get_user", "One person's profile."),
    Searchable("tracker.createIssue", "tracker", "createIssue", "Open an issue.", "assignee Who works on it."),
    Searchable("search.web", "search", "web", "Search the web for pages."),
    Searchable("mail.send", "mail", "send", "Send a mail.", "recipient Address of whoever gets it."),
    Searchable("天气.query", "天气", "query", "查询天气预报"),
]


def find(request: str, limit: int = 3) -> list[str]:
    return [hit.key for hit in ToolIndex(TOOLS).rank(request, limit=limit)]


@pytest.mark.parametrize(
    ("request_", "first"),
    [
        ("read a text file", "files.read_text"),
        ("reading files", "files.read_text"),
        ("erase this document", "files.delete"),
        ("show the contents of a folder", "files.list_directory"),
        ("create issue", "tracker.createIssue"),
        ("createissue", "tracker.createIssue"),
        ("hacker news user", "HackerNews.get_user"),
        ("the tracker's user", "tracker.get_user"),
        ("who is the assignee", "tracker.createIssue"),
        ("recipient", "mail.send"),
        ("天气预报", "天气.query"),
        ("serach teh web", "search.web"),
        ("direc", "files.list_directory"),
        ("files.raed_text", "files.read_text"),
    ],
)
def test_what_fits_best_comes_first(request_: str, first: str) -> None:
    assert find(request_)[0] == first


MAIL = [
    Searchable("mail.delete_mail", "mail", "delete_mail", "Delete a mail."),
    Searchable("mail.mark_mails", "mail", "mark_mails", "Mark mails as read, for whoever wants to show or list them."),
    Searchable("mail.trash", "mail", "trash", "Empty the trash: mails that are shown there are deleted."),
    Searchable("mail.drop_box", "mail", "drop_box", "What lies in a mail box, shown by day.", reads=True),
    Searchable("mail.folder", "mail", "folder", "The messages of one folder."),
]


@pytest.mark.parametrize(
    "request_", ["show my mails", "read my mail", "what mails are there", "find mails, then show them"]
)
def test_who_wants_to_know_something_finds_first_what_changes_nothing(request_: str) -> None:
    ranked = [hit.key for hit in ToolIndex(MAIL).rank(request_)]

    assert ranked[0] in ("mail.drop_box", "mail.folder")


@pytest.mark.parametrize(
    ("request_", "first"),
    [
        ("delete the mails", "mail.delete_mail"),
        ("how do I delete a mail", "mail.delete_mail"),
        ("show my mails and delete them", "mail.delete_mail"),
        ("mark mails", "mail.mark_mails"),
    ],
)
def test_who_wants_something_changed_finds_what_changes_it(request_: str, first: str) -> None:
    assert first in [hit.key for hit in ToolIndex(MAIL).rank(request_, limit=2)]


def test_several_needs_each_find_their_tool() -> None:
    found = find("Search the web for 'mail servers', then write the addresses to list.txt and send a mail about it", 3)

    assert set(found) == {"search.web", "files.write_text", "mail.send"}


def test_what_stands_in_quotes_is_data() -> None:
    assert find("write 'search the web, send a mail, delete it' to a file")[0] == "files.write_text"


@pytest.mark.parametrize("request_", ["", "   ", "the of and", "xyzzyplugh", "?!", "\x00"])
def test_nothing_fits_a_request_that_says_nothing(request_: str) -> None:
    assert find(request_) == []


def test_an_index_of_nothing_finds_nothing() -> None:
    assert ToolIndex([]).rank("anything") == []


def test_equally_good_ones_keep_their_order_and_scores_fall_from_one() -> None:
    hits = ToolIndex(TOOLS).rank("user profile")

    assert [hit.key for hit in hits[:2]] == ["HackerNews.get_user", "tracker.get_user"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert 0 < hits[-1].score <= hits[0].score <= 1


def test_the_order_does_not_depend_on_how_texts_hash() -> None:
    assert [find("fetch the newest stories") for _ in range(3)] == [find("fetch the newest stories")] * 3


@unhurried
@given(st.text(st.characters(exclude_categories=())), st.integers(min_value=1, max_value=20))
def test_any_request_is_answered_within_bounds(request_: str, limit: int) -> None:
    hits = ToolIndex(TOOLS).rank(request_, limit=limit)

    assert len(hits) <= limit
    assert len({hit.key for hit in hits}) == len(hits)
    assert all(0 < hit.score <= 1 for hit in hits)


@unhurried
@given(st.lists(st.builds(Searchable, st.text(), st.text(), st.text(), st.text(), st.text())))
def test_any_tools_can_be_indexed(things: list[Searchable]) -> None:
    index = ToolIndex(things)

    for thing in things[:3]:
        index.rank(f"{thing.name} {thing.description}")


@pytest.mark.parametrize(
    "text", ["'" * 50_000, "(" * 50_000, "a." * 50_000, "and " * 50_000, "x" * 200_000, "a, " * 9999]
)
def test_a_hostile_request_takes_no_time(text: str) -> None:
    started = time.process_time()

    ToolIndex(TOOLS).rank(text)

    assert time.process_time() - started < 5


def test_a_request_is_read_up_to_a_length_and_split_into_few_needs() -> None:
    needs = split_needs("send it. " * 1000)

    assert len(needs) == MOST
    assert sum(len(need.words) for need in needs) <= LONGEST


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["files", "file", "filed", "filing"], True),
        (["directories", "directory"], True),
        (["creation", "create", "created", "creates", "creating"], True),
        (["boxes", "box"], True),
        (["news", "new"], True),
        (["status", "state"], False),
        (["address", "add"], False),
    ],
)
def test_forms_of_a_word_have_one_stem(words: list[str], same: bool) -> None:  # noqa: FBT001
    assert (len({stem(word) for word in words}) == 1) is same


def test_a_name_counts_whole_and_in_parts() -> None:
    assert list(read_words("listOpenIssues get_HTTPResponse")) == [
        "listopenissu", "list", "open", "issu", "get", "httprespons", "http", "respons",
    ]  # fmt: skip


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": {"a": 1, "b": {"description": 2}}}])
def test_a_schema_that_makes_no_sense_has_few_words(schema: Any) -> None:
    assert set(read_parameters(schema).split()) <= {"a", "b"}


MANY = [thing._replace(key=f"{number}", reads=number % 7 == 0) for number in range(200) for thing in TOOLS]
QUERIES = ("read a text file", "erase this document", "who is the assignee", "天气预报", "serach teh web")


def rank_kept(things: list[Searchable], folder: Path) -> list[list[Hit]]:
    index = ToolIndex(things, Shelf(folder))
    return [index.rank(query) for query in QUERIES]


def test_many_tools_are_ranked_alike_by_what_was_kept_of_them(tmp_path: Path) -> None:
    read = [ToolIndex(MANY).rank(query) for query in QUERIES]

    assert rank_kept(MANY, tmp_path) == read
    [kept] = tmp_path.iterdir()
    written = kept.stat()
    assert rank_kept(MANY, tmp_path) == read
    assert kept.stat().st_mtime_ns == written.st_mtime_ns, "it was read, and not made again"
    assert written.st_mode & 0o777 == 0o600


def test_words_are_kept_for_many_tools_only(tmp_path: Path) -> None:
    assert rank_kept(TOOLS, tmp_path)

    assert not [*tmp_path.iterdir()]


def test_what_was_kept_of_other_texts_is_not_used(tmp_path: Path) -> None:
    rank_kept(MANY, tmp_path)
    changed = [thing._replace(description="Erase the text.") if thing.key == "3" else thing for thing in MANY]

    assert rank_kept(changed, tmp_path) == [ToolIndex(changed).rank(query) for query in QUERIES]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:200],
        lambda data: data.replace(b"\n", b"", 1),
        lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        lambda data: b"{}" + data[data.index(b"\n") :],
        lambda data: b"[" * 100_000 + data,
    ],
)
def test_damaged_words_are_read_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    found = rank_kept(MANY, tmp_path)
    [kept] = tmp_path.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))

    assert rank_kept(MANY, tmp_path) == found
    assert kept.read_bytes() == whole
