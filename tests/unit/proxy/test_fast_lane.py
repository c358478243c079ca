"""Calls beside the session: numbers that look alike, answers that make no sense, and the end of the pipe."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from ot.proxy.transports.fast_lane import FIRST, FastLane

pytestmark = pytest.mark.anyio


class Pipe:
    """The other side, which says what the test tells it to say when a call arrives."""

    def __init__(self, *answers: Any) -> None:
        self.written: list[dict[str, Any]] = []
        self.given_back: list[bytes] = []
        self._answers = answers
        self.lane = FastLane(self._write, self.given_back.append)

    async def _write(self, line: bytes) -> None:
        self.written.append(json.loads(line))
        for answer in self._answers if len(self.written) == 1 else ():
            text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            if not self.lane.take(text):
                self.given_back.append(text)


def result(number: int = FIRST, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"content": [], **more}}


async def test_an_answer_is_found_wherever_its_number_stands() -> None:
    long = {"result": {"content": [{"type": "text", "text": "x" * 5000}]}, "jsonrpc": "2.0", "id": FIRST}

    assert await Pipe(result()).lane.call("t", {}, None) == {"content": []}
    assert await Pipe(long).lane.call("t", {}, None) == long["result"]


async def test_a_line_that_only_contains_the_number_goes_back_to_the_session() -> None:
    other = {"jsonrpc": "2.0", "id": 7, "result": {"id": FIRST, "note": f'"id":{FIRST}'}}
    pipe = Pipe(other, result())

    assert await pipe.lane.call("t", {}, None) == {"content": []}
    assert [json.loads(line)["id"] for line in pipe.given_back] == [7]


async def test_half_a_message_is_passed_over() -> None:
    pipe = Pipe(b'{"jsonrpc": "2.0", "id": %d, "result": {' % FIRST, result())

    assert await pipe.lane.call("t", {}, None) == {"content": []}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"id": FIRST, "error": {"code": -32602, "message": "no such row"}}, "no such row"),
        ({"id": FIRST, "error": "broken"}, "neither a result nor an error"),
        ({"id": FIRST, "result": [1]}, "neither a result nor an error"),
    ],
)
async def test_an_error_is_raised_with_its_words(answer: Any, words: str) -> None:
    with pytest.raises(MCPError, match=words):
        await Pipe(answer).lane.call("t", {}, None)


async def test_progress_comes_before_the_answer() -> None:
    told: list[Any] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    def step(token: Any, progress: Any) -> dict[str, Any]:
        return {
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": progress, "message": "m"},
        }

    pipe = Pipe(step(FIRST, 1), step(FIRST, "x"), step(FIRST, 2.5), result())
    await pipe.lane.call("t", {}, listen)

    assert told == [(1.0, None, "m"), (2.5, None, "m")]
    assert pipe.written[0]["params"]["_meta"] == {"progressToken": FIRST}


async def test_a_cancelled_call_is_taken_back_and_its_late_answer_is_nobodys() -> None:
    pipe = Pipe()
    with anyio.move_on_after(0.05):
        await pipe.lane.call("t", {}, None)

    assert pipe.written[1]["method"] == "notifications/cancelled"
    assert pipe.written[1]["params"]["requestId"] == FIRST
    assert not pipe.lane.take(json.dumps(result()).encode())


async def test_at_the_end_of_the_pipe_calls_fail_and_no_more_are_made() -> None:
    pipe = Pipe()

    async def end() -> None:
        await anyio.sleep(0.02)
        pipe.lane.end()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end)
        with pytest.raises(MCPError) as caught:
            await pipe.lane.call("t", {}, None)
    with pytest.raises(MCPError):
        await pipe.lane.call("t", {}, None)
    assert caught.value.code == CONNECTION_CLOSED
