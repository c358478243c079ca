"""Lines of bytes as JSON-RPC messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest

from mcp_official.messages import LineBuffer, MalformedLineError, parse_message


def answer_to(line: bytes) -> tuple[int, str | int | None] | None:
    with pytest.raises(MalformedLineError) as caught:
        parse_message(line)
    answer = caught.value.answer
    return None if answer is None else (answer.error.code, answer.id)


def test_requests_and_notifications_are_read() -> None:
    assert isinstance(parse_message(b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), JSONRPCRequest)
    assert isinstance(parse_message(b'{"jsonrpc":"2.0","method":"notifications/x"}'), JSONRPCNotification)


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b'{"jsonrpc":',
        b"\xff\xfe",
        b'{"id": 1, "method": "\xc3\x28"}',
        b"\x00\x01",
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    ],
    ids=["text", "cut", "not-utf8", "bad-string", "control", "deep", "huge-id"],
)
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    assert answer_to(line) == (PARSE_ERROR, None)


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None),
        (b"7", None),
        (b'"ping"', None),
        (b"{}", None),
        (b'{"jsonrpc":"2.0","method":7}', None),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a"),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}', 5),
    ],
    ids=["empty-batch", "batch", "number", "string", "empty", "method", "version", "positional"],
)
def test_json_that_is_no_request_is_refused_under_its_id(line: bytes, identifier: str | int | None) -> None:
    assert answer_to(line) == (INVALID_REQUEST, identifier)


@pytest.mark.parametrize(
    "line", [b"", b"  \t", b"\r", b'{"jsonrpc":"2.0","id":{},"result":{}}', b'{"jsonrpc":"2.0","error":7}']
)
def test_blank_lines_and_malformed_answers_are_skipped(line: bytes) -> None:
    assert answer_to(line) is None


@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b" ")), max_size=8), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_however_they_arrive(lines: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in lines)
    buffer = LineBuffer()
    found = []

    for start in range(0, len(data), size):
        buffer.feed(data[start : start + size])
        while (line := buffer.take()) is not None:
            found.append(line)

    assert found == lines
    assert buffer.take_rest() == b""


def test_a_line_past_the_limit_is_refused_and_the_next_one_is_read() -> None:
    buffer = LineBuffer(limit=10)
    for _ in range(5):
        buffer.feed(b"x" * 8)
        assert buffer.take() is None
    buffer.feed(b"x\nnext\n")

    with pytest.raises(MalformedLineError) as caught:
        buffer.take()

    assert caught.value.answer is not None
    assert "41 bytes; at most 10" in caught.value.answer.error.message
    assert buffer.take() == b"next"
