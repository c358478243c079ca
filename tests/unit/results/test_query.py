"""Pages of stored results: which lines, how much of them, and what cannot be read."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ot.errors import ToolError
from ot.results.page import WIDTH, Query
from ot.results.query import read_light_page, read_page
from ot.results.stored_file import BLOCK
from ot_kernel.values import Image, Record
from tests.unit.results.stores import open_store

Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Store a value and ask for a page of it, in the light way and in the other one: they must agree."""

    async def ask(value: Any, **query: Any) -> dict[str, Any]:
        store = open_store(tmp_path)
        file = store.find_now((await store.keep_value(value)).handle)
        return pages_of(file, Query(**query))

    return ask


def pages_of(file: Path, query: Query) -> dict[str, Any]:
    light, heavy = read_light_page(file, query), read_page(str(file), asdict(query))
    assert light is None or light == heavy
    return heavy


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\r\nb", ["a", "b"]),
        ("\n\nx", ["", "", "x"]),
        ("", []),
        ([1, "two", None, [3, [4, [5]]]], ["- 1", "- two", "- null", "- [3, [4, [5]]]"]),
        ({"a": {"b": {"c": 1}}, "d": "e: f"}, ["a: {b: {c: 1}}", "d: 'e: f'"]),
        ((1, 2), ["- 1", "- 2"]),
        ({1: "one", "$": 2}, ["1: one", "$: 2"]),
        (Record("Row", {"id": 1}), ["id: 1"]),
        ({5}, ["- 5"]),
        (b"\x00ab", [r"b'\x00ab'"]),
        (12.5, ["12.5"]),
        ([Image(b"png"), "\ud800", "über\nzwei"], ["- <image/png, 3 bytes>", r'- "\uD800"', r'- "über\nzwei"']),
    ],
    ids=repr,
)
async def test_a_text_has_its_own_lines_and_anything_else_one_for_each_item(
    ask: Ask, value: Any, lines: list[str]
) -> None:
    page = await ask(value)

    assert page["lines"] == lines
    assert page["total_lines"] == page["returned"] == len(lines)
    assert not page["has_more"]


@pytest.mark.parametrize("kind", ["text", "list", "dict"])
async def test_every_page_of_a_long_result_is_found(ask: Ask, kind: str) -> None:
    texts = [f"line {n} x{'x' * (n % 300)}" for n in range(9000)]
    value: Any = {
        "text": "\n".join(texts),
        "list": texts,
        "dict": {f"k{n}": text for n, text in enumerate(texts)},
    }[kind]
    lines = {
        "text": texts,
        "list": [f"- {text}" for text in texts],
        "dict": [f"k{n}: {text}" for n, text in enumerate(texts)],
    }[kind]

    for offset in (1, 2, 64, 65, 1234, 4321, 8999, 9000):
        page = await ask(value, offset=offset, limit=2)

        assert page["lines"] == lines[offset - 1 : offset + 1]
        assert page["has_more"] == (offset < 8999)
    assert sum(map(len, texts)) > 3 * BLOCK


async def test_a_line_of_any_length_is_read_in_windows(ask: Ask) -> None:
    text = "".join(chr(0x100 + n % 500) for n in range(600_000))

    first = await ask(text, room=1000)
    second = await ask(text, column=1001, room=1000)
    last = await ask(text, column=599_991, room=1000)

    assert first["lines"] == [f"{text[:1000]}… [1-1,000 of 600,000 characters; column=1001 reads on]"]
    assert second["lines"][0].startswith(text[1000:2000])
    assert last["lines"] == [text[-10:]]


async def test_of_several_long_lines_each_is_cut_and_the_page_ends_when_it_is_full(ask: Ask) -> None:
    page = await ask("\n".join("x" * 10_000 for _ in range(50)), room=9000)

    assert all(line.startswith("x" * WIDTH + "… [1-2,000 of 10,000 characters") for line in page["lines"])
    assert page["returned"] == 4
    assert page["has_more"]
    assert page["note"] == "The page is full after 4 lines. Continue with offset=5."


async def test_a_match_far_inside_a_long_line_is_shown(ask: Ask) -> None:
    page = await ask("x" * 50_000 + "needle" + "y" * 50_000 + "\nnothing", search="needle")

    assert page["lines"][0].startswith("[from column 49,901] xxx")
    assert "needle" in page["lines"][0]
    assert page["numbers"] == [1]


async def test_search_and_path_work_together(ask: Ask) -> None:
    value = {"rows": [{"name": f"row {n}", "tags": ["odd"] if n % 2 else []} for n in range(100)]}

    page = await ask(value, path="rows[*].name", search="row 9\\d", limit=3)

    assert page["lines"] == ["- row 90", "- row 91", "- row 92"]
    assert (page["matches"], page["total_lines"]) == (10, 100)


async def test_a_path_leads_into_text_that_is_json(ask: Ask) -> None:
    assert (await ask('{"a": {"b": [1, 2]}}', path="a.b"))["lines"] == ["- 1", "- 2"]
    with pytest.raises(ToolError, match="this result is text, and not JSON"):
        await ask("plain", path="a")


async def test_items_that_lack_what_was_asked_for_are_counted(ask: Ask) -> None:
    page = await ask([{"id": 1}, {}, {"id": 3}], path="[*].id")

    assert (page["lines"], page["skipped"]) == (["- 1", "- 3"], 1)


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a{99999999999}", "(?P<n>a)(?P<n>b)"])
async def test_what_is_no_regular_expression_is_told_where_it_fails(ask: Ask, pattern: str) -> None:
    with pytest.raises(ToolError, match=r"search: .* is not a regular expression: "):
        await ask("text", search=pattern)


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"hello\nthere\n",
    "nested without end": b"[" * 200_000 + b"\n" + b"]" * 200_000,
    "unknown tag": b'{"$":"pickle","v":[\n1\n]}',
    "keys that are there twice": b'{\n"a":1,\n"a":2\n}',
    "items of another shape": b"{\n1,\n2\n}",
    "no closing": b"[\n1,\n2,\n",
    "a number that is none": b'{"$":"int","v":"zz"}',
    "no UTF-8": b"\xff\xfe\n\xff",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("query", [{}, {"search": "x"}, {"path": "a"}, {"offset": 2}], ids=repr)
async def test_whatever_a_run_left_as_its_result_is_a_page_or_a_sentence(tmp_path: Path, name: str, query: Any) -> None:
    store = open_store(tmp_path)
    lie = tmp_path / "lie"
    lie.write_bytes(HOSTILE[name])
    stored = await store.keep_file(lambda: os.open(lie, os.O_RDONLY), "value", what="list")

    try:
        said = read_page(str(store.find_now(stored.handle)), asdict(Query(**query)))["lines"]
    except ToolError as error:
        said = error.message
    assert said == [] or said


async def test_what_was_printed_may_be_any_bytes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    printed = tmp_path / "printed"
    printed.write_bytes(b"fine\n\xff\xfe\n" + "é".encode())
    stored = await store.keep_file(lambda: os.open(printed, os.O_RDONLY), "text", what="printed")

    assert pages_of(store.find_now(stored.handle), Query())["lines"] == ["fine", "��", "é"]
