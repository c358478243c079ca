"""A plain run goes to the engine directly; a client cannot tell it from one that went through the SDK."""

from __future__ import annotations

import json

import pytest

from tests.e2e.raw_server import Message, RawServer

THROUGH_THE_SDK = {"example.org/not-plain": 1}


def told(server: RawServer, command: str, token: str, **meta: object) -> list[Message]:
    """Run a command, and give all that its client was told, without the request's own id and token."""
    before = len(server.lines)
    identifier = server.start_run(command, progressToken=token, **meta)
    server.wait_for_answer(identifier)
    lines = [line.decode().replace(f'"{token}"', "0") for line in server.lines[before:]]
    return [{**message, "id": 0} if message.get("id") == identifier else message for message in map(json.loads, lines)]


@pytest.mark.parametrize(
    "command",
    [
        "1+1",
        "print('ü \\u2028'); 'ä'",
        "chr(0xD800)",
        "1/0",
        "demo.nothing()",
        "demo.upper(text='a')",
        "demo.picture()",
        "demo.fail(message='no', kind='ToolError')",
    ],
)
def test_a_plain_run_is_answered_as_the_sdk_answers_it(raw_server: RawServer, command: str) -> None:
    raw_server.run("1")  # whose answer shows the form

    direct, usual = told(raw_server, command, "one"), told(raw_server, command, "two", **THROUGH_THE_SDK)

    assert direct == usual
