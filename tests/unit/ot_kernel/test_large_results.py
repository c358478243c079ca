"""A result too large to show goes into a file; its head crosses, of the same kind, with the size of the whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from ot_kernel.large_results import HEAD, MAX_RESULT, set_apart
from ot_kernel.stored_form import kind_of, read_form, write_form
from ot_kernel.values import MAX_NUMBER, Image, Record, decode, encode
from ot_kernel.wire import MAX_FRAME, pack

MANY = 200_000
PAIRS = 90_000  # each of them longer than a number
ROWS = 30_000  # and longer still


class Row(NamedTuple):
    text: str
    number: int


def take_head(encoded: Any, limit: int = MAX_RESULT) -> Any:
    return set_apart(encoded, limit=limit, write_file=lambda pieces: b"".join(pieces).decode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("value", [None, 5, "x" * (MAX_RESULT // 2), list(range(10_000)), {"a": [1, (2, {3})]}])
def test_a_result_of_ordinary_size_crosses_whole(value: Any) -> None:
    assert take_head(encode(value)) is None


@pytest.mark.parametrize(
    ("value", "total"),
    [
        ("ab" * MAX_RESULT, 2 * MAX_RESULT),
        (list(range(MANY)), MANY),
        ([""] * MAX_RESULT, MAX_RESULT),
        (tuple(range(MANY)), MANY),
        ({str(n): n for n in range(PAIRS)}, PAIRS),
        ({n: n for n in range(PAIRS)}, PAIRS),
        ({"$": 1} | {str(n): n for n in range(PAIRS)}, PAIRS + 1),
        ([{"id": n, "rows": [n] * 5} for n in range(ROWS)], ROWS),
        (b"\x00\xff" * MAX_RESULT, 2 * MAX_RESULT),
        (["x" * MAX_RESULT] * 3, 3),
        ({"rows": [Row("a", n) for n in range(ROWS)]}, 1),
        (Row("x" * 2 * MAX_RESULT, 5), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_head_is_the_beginning_of_the_value_with_the_size_of_the_whole(value: Any, total: int) -> None:
    message = take_head(encode(value))

    assert message is not None
    head: Any = decode(message["head"])
    assert message["total"] == total
    assert 0 < len(head) <= total
    assert type(head) is (Record if isinstance(value, Row) else type(value))
    assert begins(value, head)
    assert len(pack({**message, "name": "a file"})) < 50_000 < MAX_FRAME
    whole = read_form(message["name"].encode("utf-8", "surrogatepass"), message["kind"])
    assert whole == (Record("Row", value._asdict()) if isinstance(value, Row) else decode(encode(value)))


def begins(value: Any, head: Any) -> bool:
    """Whether head is value with parts left off at ends."""
    match head:
        case str() | bytes():
            return bool(value[: len(head)] == head)
        case Record():
            return begins(value._asdict(), dict(head))
        case dict():
            return all(key in value and begins(value[key], item) for key, item in head.items())
        case list() | tuple():
            return all(map(begins, value, head))
    return bool(value == head)


def test_a_set_crosses_as_some_of_its_members() -> None:
    message = take_head(encode(set(range(MANY))))

    assert message is not None
    head: Any = decode(message["head"])
    assert head < set(range(MANY))
    assert message["total"] == MANY


@pytest.mark.parametrize(
    "value", [1 << 8_000_000, [1 << 8_000_000], [1 << 4 * MAX_NUMBER]], ids=["alone", "inside", "too long to cross"]
)
def test_a_number_too_long_to_show_is_never_cut_into_another_number(value: Any) -> None:
    message = take_head(encode(value))

    assert message is not None
    head: Any = decode(message["head"])
    text = head if isinstance(head, str) else head[0]
    assert text.startswith("0x1000")
    assert len(text) <= HEAD


def test_images_cross_whole_whatever_their_size() -> None:
    image = Image(b"\x89PNG" * MAX_RESULT)

    assert take_head(encode(image)) is None
    assert take_head(encode({"images": [image, image]})) is None


def test_images_beside_too_much_text_cross_whole_too() -> None:
    image = Image(b"\x89PNG" * MAX_RESULT)
    message = take_head(encode([image, "x" * 2 * MAX_RESULT]))

    assert message is not None
    head: Any = decode(message["head"])
    first, second = head
    assert first == image
    assert len(second) <= HEAD


def test_what_is_cut_deep_inside_still_decodes() -> None:
    value = {"a": [{"b": ({1: {"c" * n: b"x" * n for n in range(2000)}},)}]}
    message = take_head(encode(value))

    assert message is not None
    assert begins(value, decode(message["head"]))


def test_what_an_answer_may_show_crosses_whole() -> None:
    assert take_head(encode("x" * 500), limit=1000) is None
    assert take_head(encode("x" * 50_000), limit=1000) is not None


def test_what_cannot_be_written_crosses_as_its_head_with_the_reason() -> None:
    def refuse(_: Iterable[bytes]) -> str:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    message = set_apart(encode("x" * 50_000), limit=1000, write_file=refuse)

    assert message is not None
    assert message["op"] == "value"
    assert message["value"] == "x" * HEAD
    assert message["not_kept"] == "File too large"


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        (),
        set(),
        [1],
        [[1, 2], {"a": "b\nc"}, None],
        {"a": 1, "b": {"c": [1]}},
        {1: "one", "$": "two"},
        (1, "two"),
        frozenset({3}),
        Record("Row", {"a": 1}),
        "two\nlines",
        "\ud800 half",
        b"bytes",
        12.5,
        1 << 100,
    ],
    ids=repr,
)
def test_the_stored_form_reads_back_and_has_a_line_for_each_item(value: Any) -> None:
    encoded = encode(value)
    data = b"".join(write_form(encoded))

    assert read_form(data, kind_of(encoded)) == value
    if isinstance(value, list | tuple | dict | set | frozenset):
        assert data.count(b"\n") == len(value) + 1
