"""Lines of bytes as JSON-RPC messages."""

from __future__ import annotations

import pytest
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest

from mcp_core.line_pipes import LineTooLongError
from mcp_official.stdio import MalformedLineError, parse_message


def answer_to(line: bytes | LineTooLongError) -> tuple[int, str | int | None] | None:
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
        (rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
    ],
    ids=[
        "empty-batch",
        "batch",
        "number",
        "string",
        "empty",
        "method",
        "version",
        "positional",
        "half",
        "bool",
        "fraction",
        "null",
    ],
)
def test_json_that_is_no_request_is_refused_under_its_id(line: bytes, identifier: str | int | None) -> None:
    assert answer_to(line) == (INVALID_REQUEST, identifier)


@pytest.mark.parametrize(
    "line", [b"", b"  \t", b"\r", b'{"jsonrpc":"2.0","id":{},"result":{}}', b'{"jsonrpc":"2.0","error":7}']
)
def test_blank_lines_and_malformed_answers_are_skipped(line: bytes) -> None:
    assert answer_to(line) is None


def test_a_line_past_the_limit_is_refused() -> None:
    assert answer_to(LineTooLongError(41, 10)) == (INVALID_REQUEST, None)
