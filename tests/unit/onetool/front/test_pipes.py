"""The front at the pipes, in one process with its client: what it answers itself, and what it leaves to the SDK."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_core.json_types import JsonObject
from mcp_core.line_pipes import LinePipes, LineTooLongError
from onetool.front.late_app import LateApp, open_late_app
from onetool.front.messages import envelope_of
from onetool.front.offer import Offer
from onetool.front.pipe_server import serve_pipes
from onetool.front.pipes import PipeFront
from onetool.front.rendering import FRESH, PlainResults
from onetool.front.sdk_session import SdkSession
from ot.app import App
from ot.telemetry.meters import Meters
from ot.telemetry.telemetry import Telemetry
from tests.engine import open_engine

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("pipes")]

Message = dict[str, Any]

WAIT = 60.0  # seconds: a bound for a machine that is busy
CONFIG = "execution: {warm: 1}\npolicy: {ask: [demo.upper]}\n"
TELLING = '''
"""A pack that writes to the log of its client."""

from ot.context import current

pack = "telling"


async def tell(*, level: str) -> str:
    """Write a line of this level."""
    await current().caller.front.log(level, "telling", "told")
    return level
'''
META: JsonObject = {**envelope_of("2026-07-28"), "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"}}
ABLE: JsonObject = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "raw", "version": "1"},
}


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LateApp]:
    folder = tmp_path_factory.mktemp("pipes")
    async with open_late_app(lambda: open_engine(folder, config=CONFIG, packs={"telling": TELLING})) as app:
        await app.get()
        yield app


class Client:
    """The other end of two pipes."""

    def __init__(self, source: int, sink: int) -> None:
        self.heard: list[Message] = []
        self._turn = anyio.Event()
        self.pipes = LinePipes(source, sink, self._hear, lambda: None)

    def says(self, method: str, params: object = None, **more: object) -> None:
        self.pipes.write(line_of(method, params, **more) + b"\n")

    def _hear(self, line: bytes | LineTooLongError) -> None:
        assert isinstance(line, bytes)
        self.heard.append(json.loads(line))
        self._turn.set()

    async def hears(self, **members: object) -> Message:
        """Wait for a message with these members."""
        with anyio.fail_after(WAIT):
            while True:
                for message in self.heard:
                    if members.items() <= message.items():
                        return message
                self._turn = anyio.Event()
                await self._turn.wait()


def line_of(method: str, params: object = None, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, **more}).encode()


class Talk:
    """A client that talks to the front; the SDK is there, but nobody loads it."""

    def __init__(self, app: LateApp, telemetry: Telemetry) -> None:
        (source, to_front), (from_front, sink) = os.pipe(), os.pipe()
        self._client = Client(from_front, to_front)
        self.front = PipeFront(app, Offer(app), PlainResults("Read this."), telemetry)
        self.sdk = SdkSession(_never, self.front.introduction)
        self._pipes = LinePipes(source, sink, self.front.take, self.front.end)
        self.front.connect(self._pipes, self.sdk)
        self._ids = 0

    def says(self, method: str, params: object = None, **more: object) -> bool:
        """Give the front a message; False if it leaves that to the SDK, which nobody has needed before."""
        assert not self.sdk.loaded
        self.front.take(line_of(method, params, **more))
        return not self.sdk.loaded

    async def asks(self, method: str, params: object = None, **more: object) -> Message:
        """Make a request of the front; gives its answer."""
        self._ids += 1
        identifier = more.pop("id", self._ids)
        assert self.says(method, params, id=identifier, **more)
        return await self._client.hears(id=identifier)

    async def runs(self, command: str, **more: object) -> str:
        answer = await self.asks("tools/call", {"name": "run", "arguments": {"command": command}, **more})
        return str(answer["result"]["content"][0]["text"])

    def begins(self, command: str, identifier: object = 9, **more: object) -> bool:
        called = {"name": "run", "arguments": {"command": command}, **more}
        return self.says("tools/call", called, id=identifier)

    async def hears(self, **members: object) -> Message:
        return await self._client.hears(**members)

    @property
    def heard(self) -> list[Message]:
        return self._client.heard

    async def introduces_itself(self) -> Message:
        return await self.asks("initialize", INITIALIZE)

    async def close(self) -> None:
        await self.front.close()
        await self._pipes.close()
        await self._client.pipes.close()


def _never() -> Any:
    raise AssertionError("nobody loads the SDK here")


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Talk]]:
    """Talks with a front; without an engine, nothing can be run or listed."""
    talks: list[Talk] = []

    def open_talk(app: LateApp | None = None, telemetry: Telemetry | None = None) -> Talk:
        talks.append(Talk(app or LateApp(), telemetry or Telemetry()))
        return talks[-1]

    yield open_talk
    for talk in talks:
        await talk.close()


@pytest.fixture
async def talk(app: LateApp, opened: Callable[..., Talk]) -> Talk:
    """A client with a session, which can ask its person."""
    talk = opened(app)
    await talk.introduces_itself()
    return talk


# -- eras


async def test_a_client_introduces_itself_and_is_told_what_is_here(opened: Callable[..., Talk]) -> None:
    talk, late = opened(), LateApp()
    answer = await talk.introduces_itself()
    other = opened(late)
    await other.introduces_itself()

    assert answer["result"]["protocolVersion"] == "2025-11-25"
    assert answer["result"]["instructions"] == "Read this."
    assert "elicitation" in late.clients.claims


async def test_the_engine_is_wanted_once_a_client_is_there(opened: Callable[..., Talk]) -> None:
    opening = anyio.Event()

    @asynccontextmanager
    async def open_nothing() -> AsyncIterator[Any]:
        opening.set()
        yield None

    for method, params in (("initialize", INITIALIZE), ("server/discover", {"_meta": META})):
        async with open_late_app(open_nothing) as late:
            await opened(late).asks(method, params)
            with anyio.fail_after(WAIT):
                await opening.wait()
        opening = anyio.Event()


async def test_the_sdk_is_told_of_a_client_in_its_own_words(opened: Callable[..., Talk]) -> None:
    session, sessionless = opened(), opened()
    await session.introduces_itself()
    session.says("notifications/initialized")
    session.says("notifications/other")
    await sessionless.asks("server/discover", {"_meta": META})
    await sessionless.asks("server/discover", {"_meta": META})

    assert session.front.introduction == [
        line_of("initialize", INITIALIZE, id=1),
        line_of("notifications/initialized"),
    ]
    [opening] = map(json.loads, sessionless.front.introduction)
    assert (opening["method"], opening["params"]) == ("server/discover", {"_meta": envelope_of("2026-07-28")})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", None),
        ("tools/call", {"name": "run", "arguments": {"command": "1"}}),
        ("logging/setLevel", {"level": "info"}),
        ("server/discover", None),
        ("resources/list", None),
    ],
)
async def test_a_client_that_has_not_introduced_itself_is_left_to_the_sdk(
    opened: Callable[..., Talk], method: str, params: object
) -> None:
    talk = opened()

    assert (await talk.asks("ping"))["result"] == {}
    assert not talk.says(method, params, id=7)


@pytest.mark.parametrize(
    ("first", "method", "params"),
    [
        (("initialize", INITIALIZE), "initialize", INITIALIZE),
        (("initialize", INITIALIZE), "server/discover", None),
        (("initialize", INITIALIZE), "tools/list", {"_meta": META}),
        (("initialize", INITIALIZE), "tools/call", {"name": "ruin", "arguments": {"command": "1"}}),
        (("server/discover", {"_meta": META}), "initialize", INITIALIZE),
        (("server/discover", {"_meta": META}), "initialize", {**INITIALIZE, "_meta": META}),
        (("server/discover", {"_meta": META}), "ping", {"_meta": META}),
        (("server/discover", {"_meta": META}), "logging/setLevel", {"_meta": META, "level": "info"}),
        (
            ("server/discover", {"_meta": META}),
            "tools/call",
            {"_meta": ABLE, "name": "run", "arguments": {"command": "1"}},
        ),
    ],
)
async def test_what_does_not_fit_the_clients_era_is_left_to_the_sdk(
    opened: Callable[..., Talk], first: tuple[str, object], method: str, params: object
) -> None:
    talk = opened()
    await talk.asks(*first)

    assert not talk.says(method, params, id=7)


async def test_whoever_begins_with_the_sdk_goes_on_with_it(opened: Callable[..., Talk]) -> None:
    talk = opened()
    talk.front.take(LineTooLongError(2, 1))
    talk.front.take(line_of("initialize", INITIALIZE, id=1))
    talk.front.take(line_of("notifications/initialized"))

    assert talk.sdk.loaded
    assert talk.front.introduction == []
    assert talk.heard == []


async def test_a_client_whose_requests_are_traced_is_left_to_the_sdk(opened: Callable[..., Talk]) -> None:
    from opentelemetry.trace import get_tracer

    telemetry = Telemetry()
    telemetry.tracer = get_tracer("test")

    assert not opened(telemetry=telemetry).says("ping", id=1)


# -- runs


async def test_a_run_is_answered_by_its_id(talk: Talk) -> None:
    assert await talk.runs("6 * 7") == "42"
    answer = await talk.asks("tools/call", {"name": "run", "arguments": {"command": "1 / 0"}}, id="x")

    assert answer["result"]["isError"]
    assert "_meta" not in answer["result"]


async def test_a_client_without_a_session_is_told_with_each_result_who_answers(
    app: LateApp, opened: Callable[..., Talk]
) -> None:
    talk = opened(app)
    ran = await talk.asks("tools/call", {"_meta": META, "name": "run", "arguments": {"command": "1"}})
    listed = await talk.asks("tools/list", {"_meta": META})
    discovered = await talk.asks("server/discover", {"_meta": META})

    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert discovered["result"]["ttlMs"] == FRESH
    assert ran["result"]["resultType"] == "complete"
    assert "ttlMs" not in ran["result"]
    assert listed["result"]["ttlMs"] == FRESH
    assert "io.modelcontextprotocol/serverInfo" in listed["result"]["_meta"]


async def test_a_run_waits_for_the_engine(tmp_path: Path, opened: Callable[..., Talk]) -> None:
    may_open = anyio.Event()

    @asynccontextmanager
    async def open_late() -> AsyncIterator[App]:
        await may_open.wait()
        async with open_engine(tmp_path / "home") as app:
            yield app

    async with open_late_app(open_late) as late:
        talk = opened(late)
        await talk.introduces_itself()
        assert talk.begins("1", "never")
        talk.says("notifications/cancelled", {"requestId": "never"})
        assert talk.begins("2")
        may_open.set()

        assert (await talk.hears(id=9))["result"]["content"][0]["text"] == "2"
        assert "never" not in [message.get("id") for message in talk.heard]


async def test_progress_is_told_to_whoever_wants_to_hear_of_it(talk: Talk) -> None:
    await talk.runs("demo.foo()")
    assert not any("method" in message for message in talk.heard)
    await talk.runs("demo.foo()", _meta={"progressToken": "told"})
    told = await talk.hears(method="notifications/progress")

    assert told["params"]["progressToken"] == "told"
    assert "demo.foo" in told["params"]["message"]


async def test_a_run_that_is_cancelled_is_not_answered(talk: Talk) -> None:
    assert talk.begins("demo.sleep(seconds=600)", 9, _meta={"progressToken": 1})
    await talk.hears(method="notifications/progress")
    talk.says("notifications/cancelled", {"requestId": "9"})  # the SDK takes "9" for 9, too
    talk.says("notifications/cancelled", {"requestId": "nobody"})

    assert await talk.runs("1") == "1"
    await talk.front.close()
    assert 9 not in [message.get("id") for message in talk.heard]


async def test_two_runs_of_one_id_are_left_to_the_sdk(talk: Talk) -> None:
    assert talk.begins("demo.sleep(seconds=600)", 9)
    assert not talk.begins("1", 9)


async def test_what_still_goes_when_the_client_leaves_is_cancelled_and_said_so(app: LateApp, talk: Talk) -> None:
    assert talk.begins("demo.sleep(seconds=600)", 9)
    await talk.front.close()

    assert app.at_hand is not None
    assert not app.at_hand.runs.count
    assert (await talk.hears(id=9))["error"] == {"code": -32000, "message": "Connection closed"}


async def test_a_mistake_of_ours_is_an_internal_error(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, app: LateApp
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours")

    assert app.at_hand is not None
    monkeypatch.setattr(app.at_hand.runner, "run", fail)
    answer = await talk.asks("tools/call", {"name": "run", "arguments": {"command": "1"}})

    assert answer["error"] == {"code": -32603, "message": "Internal server error"}


# -- questions, the log, the list of tools


def answer_to(question: Message, **answer: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}).encode()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"result": {"action": "accept", "content": {"answer": "once"}}}, "A"),
        ({"error": {"code": 1, "message": "not now"}}, "the answer was no"),
    ],
)
async def test_a_person_is_asked_in_the_middle_of_a_run(talk: Talk, answer: Message, text: str) -> None:
    talk.begins("demo.upper(text='a')", 9)
    question = await talk.hears(method="elicitation/create")
    for _ in range(2):
        talk.front.take(answer_to(question, **answer))

    assert text in (await talk.hears(id=9))["result"]["content"][0]["text"]
    assert not talk.sdk.loaded


async def test_a_question_is_withdrawn_with_its_run_and_its_answer_dropped(talk: Talk) -> None:
    talk.begins("demo.upper(text='a')", 9)
    question = await talk.hears(method="elicitation/create")
    talk.says("notifications/cancelled", {"requestId": 9})
    withdrawn = await talk.hears(method="notifications/cancelled")
    talk.front.take(answer_to(question, result={"action": "decline"}))

    assert withdrawn["params"]["requestId"] == question["id"]
    assert not talk.sdk.loaded


async def test_an_answer_to_somebody_elses_question_is_left_to_the_sdk(talk: Talk) -> None:
    talk.front.take(b'{"jsonrpc":"2.0","id":"other-1","result":{}}')

    assert talk.sdk.loaded


async def test_a_client_hears_the_log_from_the_level_on_that_it_asks_for(talk: Talk) -> None:
    levels = ("emergency", "warning", "notice", "loud")
    await talk.runs(f"for level in {levels}: telling.tell(level=level)")
    assert not any("method" in message for message in talk.heard)
    await talk.asks("logging/setLevel", {"level": "warning"})
    await talk.runs(f"for level in {levels}: telling.tell(level=level)")

    heard = [message["params"] for message in talk.heard if message.get("method") == "notifications/message"]
    assert [told["level"] for told in heard] == ["emergency", "warning"]
    assert heard[0] == {"level": "emergency", "logger": "telling", "data": "told"}


async def test_requests_are_counted_with_what_went_wrong(app: LateApp, opened: Callable[..., Talk]) -> None:
    meters = Meters()
    talk = opened(app, Telemetry(meters))
    await talk.introduces_itself()
    await talk.runs("1")
    await talk.runs("1 / 0")

    counted = dict(meters.operations.series())
    assert counted.keys() == {("initialize", ""), ("tools/call", ""), ("tools/call", "tool_error")}
    assert all(0 <= series.total < WAIT for series in counted.values())


# -- the whole server at its pipes


@asynccontextmanager
async def served(app: LateApp) -> AsyncIterator[Client]:
    """A client of the server; at the end it leaves, and the server must end as well."""
    (source, to_server), (from_server, sink) = os.pipe(), os.pipe()
    client = Client(from_server, to_server)
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_pipes, app, Telemetry(), source, sink)
            yield client
            await client.pipes.close()


async def test_whoever_has_listed_tools_hears_when_there_are_others(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_late_app(lambda: open_engine(home)) as app, served(app) as client:
        client.says("initialize", INITIALIZE, id=1)
        client.says("tools/list", id=2)
        before = await client.hears(id=2)
        (home / ".onetool" / "tools").mkdir()
        (home / ".onetool" / "tools" / "arrived.py").write_text(
            "pack = 'arrived'\n\n\ndef now() -> int:\n    return 1\n"
        )
        client.says("tools/call", {"name": "run", "arguments": {"command": "ot.reload()"}}, id=3)
        await client.hears(method="notifications/tools/list_changed")
        client.says("tools/list", id=4)
        after = await client.hears(id=4)

    described = [listed["result"]["tools"][0]["description"] for listed in (before, after)]
    assert ["arrived" in text for text in described] == [False, True]


async def test_the_sdk_answers_the_rest_and_ends_with_the_client(app: LateApp) -> None:
    async with served(app) as client:
        client.says("initialize", INITIALIZE, id=1)
        client.says("notifications/initialized")
        client.says("nothing/here", id=2)
        client.says("tools/call", {"name": "run", "arguments": {"command": "1"}}, id=3)
        client.says("tools/call", {"name": "run", "arguments": {"command": "2", "more": 1}}, id=4)
        answers = [await client.hears(id=number) for number in range(1, 5)]
        client.says("resources/list", id=5)
        await client.hears(id=5)

    assert "error" in answers[1]
    assert answers[2]["result"]["content"][0]["text"] == "1"
    assert "more" in str(answers[3])
    assert sorted(message["id"] for message in client.heard) == [1, 2, 3, 4, 5]


async def test_a_client_that_begins_with_something_odd_is_answered_by_the_sdk(app: LateApp) -> None:
    async with served(app) as client:
        client.says("initialize", {**INITIALIZE, "capabilities": {"flying": {}}}, id=1)
        greeting = await client.hears(id=1)
        client.says("notifications/initialized")
        client.says("ping", id=2)
        await client.hears(id=2)

    assert greeting["result"]["protocolVersion"] == "2025-11-25"


async def test_a_client_that_leaves_before_the_sdk_is_there_takes_the_server_with_it(app: LateApp) -> None:
    async with served(app) as client:
        client.says("resources/list", id=1)
