"""Messages are one line each, however the bytes of the stream are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_sdk import protocol
from ot_sdk.protocol import Lines, ProtocolError, read_message


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.integers(1, 7))
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], piece: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    found = Lines()

    complete = [line for start in range(0, len(stream), piece) for line in found.feed(stream[start : start + piece])]

    assert complete == lines


def test_a_line_of_absurd_length_is_an_error() -> None:
    lines = Lines(limit=1000)
    lines.feed(b"x" * 600)

    with pytest.raises(ProtocolError, match="more than 1000 bytes"):
        lines.feed(b"x" * 600)


@pytest.mark.parametrize(
    "line",
    [b"", b"hello", b"[1]", b'"x"', b'{"a":', b'{"a":1} more', b"\xff\xfe", b"[" * 100_000],
    ids=["nothing", "words", "list", "text", "half", "more behind it", "no UTF-8", "absurd nesting"],
)
def test_what_is_no_message_is_an_error_that_shows_it(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="a line that is not a message"):
        read_message(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            protocol.write_request(1, "start", {"pack": "x"}),
            {"jsonrpc": "2.0", "id": 1, "method": "start", "params": {"pack": "x"}},
        ),
        (
            protocol.write_call(2, "naïve", {"text": "a\nb"}, 5),
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "call",
                "params": {"tool": "naïve", "slot": 5, "arguments": {"text": "a\nb"}},
            },
        ),
        (protocol.write_result(3, [1, None]), {"jsonrpc": "2.0", "id": 3, "result": [1, None]}),
        (
            protocol.write_error(4, -1, "no", kind="x"),
            {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no", "data": {"kind": "x"}}},
        ),
        (
            protocol.write_notification("cancel", {"id": 5}),
            {"jsonrpc": "2.0", "method": "cancel", "params": {"id": 5}},
        ),
    ],
    ids=["request", "call", "result", "error", "notification"],
)
def test_a_message_is_one_line_of_json_rpc(line: bytes, message: dict[str, Any]) -> None:
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line) == read_message(line) == message
