"""Which messages are plain, and what is read of them; the SDK answers all others."""

from __future__ import annotations

import json

import pytest

from mcp_core.json_types import Json, JsonObject
from onetool.front.messages import (
    Request,
    envelope_of,
    progress_params,
    read_answer,
    read_command,
    read_request,
    write_error,
    write_message,
    write_notification,
)

CLIENT: JsonObject = {"name": "raw", "version": "1"}
INTRODUCTION: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
ENVELOPE: JsonObject = {**envelope_of("2026-07-28"), "io.modelcontextprotocol/clientInfo": CLIENT}
CALL: JsonObject = {"name": "run", "arguments": {"command": "1"}}


def line(method: object, params: Json = None, **more: object) -> bytes:
    """A request with the id 1, unless something else is said."""
    said = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params}), **more}
    return json.dumps(said).encode()


def read(text: bytes) -> Request:
    request = read_request(text)
    assert request is not None
    return request


def able_of(capabilities: Json) -> bytes:
    return line("initialize", {**INTRODUCTION, "capabilities": capabilities})


def said_by(client: Json) -> bytes:
    return line("initialize", {**INTRODUCTION, "clientInfo": client})


def called_with(arguments: Json, **more: Json) -> bytes:
    return line("tools/call", {**CALL, "arguments": arguments, **more})


def in_envelope(method: str = "tools/list", **changed: Json) -> bytes:
    names = {"revision": "protocolVersion", "client": "clientInfo", "capabilities": "clientCapabilities"}
    changes = {f"io.modelcontextprotocol/{names[name]}": value for name, value in changed.items()}
    return line(method, {"_meta": {**ENVELOPE, **changes}})


PLAIN = [
    line("ping"),
    line("ping", {}),
    line("ping", id=0),
    line("ping", id=-(2**53) + 1),
    line("ping", id="x" * 200),
    line("ping", {"_meta": {}}),
    line("tools/list", {"_meta": {"progressToken": "a"}}),
    line("tools/call", CALL),
    line("initialize", INTRODUCTION),
    said_by({**CLIENT, "title": "Raw", "description": "A client", "websiteUrl": "https://example.org"}),
    able_of({"roots": {"listChanged": True}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}),
    able_of({"experimental": {"a": {"b": 1}}, "extensions": {"c": {"d": [2]}}, "tasks": {}}),
    *(line("logging/setLevel", {"level": level}) for level in ("debug", "emergency")),
    in_envelope("server/discover"),
    in_envelope(),
]
ODD = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "too deep": b"[" * 100_000,
    "a constant that JSON lacks": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    "a list": b"[]",
    "another protocol": line("ping", jsonrpc="1.0"),
    "a member more": line("ping", more=1),
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "a method that is a number": line(5),
    "parameters in a list": line("ping", [1]),
    "meta in a list": line("ping", {"_meta": []}),
    "an unknown method": line("nothing/here"),
    "an id that is null": line("ping", id=None),
    "an id that is true": line("ping", id=True),
    "an id with a fraction": line("ping", id=1.5),
    "an id that floats cannot hold": line("ping", id=2**53),
    "a long id": line("ping", id="x" * 201),
    "an id with a control character": line("ping", id="\n"),
    "an odd token": line("ping", {"_meta": {"progressToken": {}}}),
    "more in meta": line("ping", {"_meta": {"other": 1}}),
    "more in an envelope": line("ping", {"_meta": {**ENVELOPE, "other": 1}}),
    "an unknown revision": in_envelope(revision="1999-01-01"),
    "a client without a version in an envelope": in_envelope(client={"name": "raw"}),
    "odd capabilities in an envelope": in_envelope(capabilities=[]),
    "parameters that are not known": line("tools/list", {"cursor": "none"}),
    "an unknown level": line("logging/setLevel", {"level": "loud"}),
    "more than a level": line("logging/setLevel", {"level": "debug", "more": 1}),
    "a revision that is a number": line("initialize", {**INTRODUCTION, "protocolVersion": 1}),
    "more in an introduction": line("initialize", {**INTRODUCTION, "more": 1}),
    "no capabilities": line("initialize", {"protocolVersion": "2025-11-25", "clientInfo": CLIENT}),
    "a capability that is a list": able_of({"sampling": []}),
    "an unknown capability": able_of({"flying": {}}),
    "a capability with a number": able_of({"sampling": {"tools": 1}}),
    "roots with something else": able_of({"roots": {"other": True}}),
    "roots with a number": able_of({"roots": {"listChanged": 1}}),
    "an extension that is a number": able_of({"extensions": {"a": 1}}),
    "no client": line("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}),
    "a client without a name": said_by({"version": "1"}),
    "a client of more words": said_by({**CLIENT, "icons": "none"}),
    "a client whose version is a number": said_by({"name": "raw", "version": 1}),
    "a client of half a character": said_by({"name": "\ud800", "version": "1"}),
    "no arguments": line("tools/call", {"name": "run"}),
    "arguments in a list": called_with([1]),
    "another argument": called_with({"command": "1", "more": 2}),
    "a command that is a number": called_with({"command": 5}),
    "half a character": called_with({"command": "\ud800"}),
    "a tool without a name": line("tools/call", {"arguments": {"command": "1"}}),
    "a task": called_with({"command": "1"}, task={"ttl": 1000}),
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_message_is_read(text: bytes) -> None:
    said = json.loads(text)
    request = read(text)

    assert (request.method, request.params, request.id) == (said["method"], said.get("params", {}), said["id"])


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_message_is_not_read(kind: str) -> None:
    assert read_request(ODD[kind]) is None


def test_a_notification_is_read_whatever_it_says() -> None:
    request = read(b'{"jsonrpc":"2.0","method":"notifications/other","params":{"_meta":{"other":1},"more":2}}')

    assert (request.method, request.id, request.params["more"]) == ("notifications/other", None, 2)


def test_a_client_introduces_itself_once_or_with_each_request() -> None:
    able: JsonObject = {"sampling": {}}
    once = read(line("initialize", {**INTRODUCTION, "capabilities": able}))
    each = read(in_envelope(capabilities=able))
    later = read(line("tools/list"))

    assert [request.sessionless for request in (once, each, later)] == [False, True, False]
    assert [request.revision for request in (once, each)] == ["2025-11-25", "2026-07-28"]
    assert [request.client for request in (once, each, later)] == ["raw", "raw", ""]
    assert [request.capabilities for request in (once, each, later)] == [able, able, {}]


@pytest.mark.parametrize("token", [None, "a", 7])
def test_progress_is_told_under_a_token(token: Json) -> None:
    request = read(line("tools/call", {**CALL, "_meta": {} if token is None else {"progressToken": token}}))

    assert request.token == token


def test_the_command_of_a_call_is_read_and_of_nothing_else() -> None:
    call = read(line("tools/call", CALL))

    assert read_command(call, {"run"}) == "1"
    assert read_command(call, {"my_run"}) is None
    assert read_command(read(line("ping")), {"run"}) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (b'{"jsonrpc":"2.0","id":"a","result":{"b":1}}', ("a", {"b": 1})),
        (b'{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"no"}}', ("a", "no")),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', None),
        (b'{"jsonrpc":"2.0","id":"a","result":{"b":NaN}}', None),
        (line("ping"), None),
        (b"[" * 100_000, None),
    ],
)
def test_an_answer_is_a_result_or_the_words_of_an_error(text: bytes, read: object) -> None:
    assert read_answer(text) == read


def test_a_message_is_one_line_of_text_without_spaces() -> None:
    assert write_error(1, -32000, "ü\n") == (
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"ü\\n"}}\n'.encode()
    )
    assert write_message({"id": "\ud800"}) == b'{"jsonrpc":"2.0","id":"\\ud800"}\n'


def test_what_is_not_known_is_left_out_of_a_notification() -> None:
    assert write_notification("a") == b'{"jsonrpc":"2.0","method":"a"}\n'
    assert json.loads(write_notification("a", {}))["params"] == {}
    assert progress_params(1, 2, None, None) == {"progressToken": 1, "progress": 2}
    assert progress_params(1, 2, 3, "x") == {"progressToken": 1, "progress": 2, "total": 3, "message": "x"}
