"""A result too large to show crosses as its head, of the same kind, with the size of the whole."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ot_kernel.large_results import HEAD, MAX_RESULT, take_head
from ot_kernel.values import Image, Record, decode, encode
from ot_kernel.wire import MAX_FRAME, pack

MANY = 70_000


class Row(NamedTuple):
    text: str
    number: int


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
        ({str(n): n for n in range(MANY)}, MANY),
        ({n: n for n in range(MANY)}, MANY),
        ({"$": 1} | {str(n): n for n in range(MANY)}, MANY + 1),
        ([{"id": n, "rows": [n] * 5} for n in range(MANY)], MANY),
        (b"\x00\xff" * MAX_RESULT, 2 * MAX_RESULT),
        (["x" * MAX_RESULT] * 3, 3),
        ({"rows": [Row("a", n) for n in range(MANY)]}, 1),
        (Row("x" * 2 * MAX_RESULT, 5), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_head_is_the_beginning_of_the_value_with_the_size_of_the_whole(value: Any, total: int) -> None:
    message = take_head(encode(value))

    assert message is not None
    head = decode(message["value"])
    assert message["total"] == total
    assert 0 < len(head) <= total
    assert type(head) is (Record if isinstance(value, Row) else type(value))
    assert begins(value, head)
    assert len(pack(message)) < MAX_FRAME


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
    assert decode(message["value"]) < set(range(MANY))
    assert message["total"] == MANY


@pytest.mark.parametrize("value", [1 << 4_000_000, [1 << 4_000_000]], ids=["alone", "inside"])
def test_a_number_too_long_to_show_is_never_cut_into_another_number(value: Any) -> None:
    message = take_head(encode(value))

    assert message is not None
    head = decode(message["value"])
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
    first, second = decode(message["value"])
    assert first == image
    assert len(second) <= HEAD


def test_what_is_cut_deep_inside_still_decodes() -> None:
    value = {"a": [{"b": ({1: {"c" * n: b"x" * n for n in range(2000)}},)}]}
    message = take_head(encode(value))

    assert message is not None
    assert begins(value, decode(message["value"]))
