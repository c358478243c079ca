"""Servers behind the real server: what they ask of their client reaches ours, and comes back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    TextContent,
    TextResourceContents,
)
from pydantic import FileUrl

from tests.proxied import program
from tests.real_server import connect_server

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("proxy front")]  # the tests share servers

BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["with a session", "sessionless"])


def connect(folder: Path, servers: dict[str, Any], *, mode: str = "legacy", **callbacks: Any) -> Client:
    """A client with the given abilities; in one era it has a session, in the other it is asked between requests."""
    config = {"servers": servers, "execution": {"timeout": 3}, "packs": {"llm": {"timeout": 2}}}
    with_environment = connect_server(folder, config=json.dumps(config))
    assert isinstance(with_environment.server, StdioServerParameters)
    return Client(with_environment.server, mode=mode, **callbacks)


class Front:
    """A client with every ability, and what it was asked and told."""

    def __init__(self, folder: Path, *, mode: str = "legacy") -> None:
        self.journal = folder / "journal"
        self.asked: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.sampled: list[CreateMessageRequestParams] = []
        self.messages: list[LoggingMessageNotificationParams] = []
        self.answer: ElicitResult | ErrorData = ElicitResult(action="cancel")
        self.hesitates = 0.0
        self.client = connect(
            folder,
            {
                "asks": program("asks", timeout=2),
                "sessionless": program("asks", "sessionless", timeout=2),
                "slow": program("slow", self.journal, timeout=60),
            },
            mode=mode,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample,
            list_roots_callback=self._list_roots,
            logging_callback=self._listen,
        )

    def forget(self) -> None:
        """Forget what an earlier test left."""
        self.asked.clear()
        self.forms.clear()
        self.sampled.clear()
        self.messages.clear()
        self.journal.unlink(missing_ok=True)
        self.answer = ElicitResult(action="cancel")
        self.hesitates = 0.0

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        self.asked.append(params.message)
        if isinstance(params, ElicitRequestFormParams):
            self.forms.append(dict(params.requested_schema))
        await anyio.sleep(self.hesitates)
        return self.answer

    async def _sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        self.sampled.append(params)
        await anyio.sleep(self.hesitates)
        if isinstance(self.answer, ErrorData):
            return self.answer
        return CreateMessageResult(role="assistant", content=TextContent(text="yes"), model="m")

    async def _list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///work/notes"))])

    async def _listen(self, params: LoggingMessageNotificationParams) -> None:
        self.messages.append(params)


Able = Callable[..., Awaitable[Front]]
Unable = Callable[[str], Awaitable[Client]]


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[AsyncExitStack]:
    """What is opened for several tests, closed in the opposite order."""
    async with AsyncExitStack() as clients:
        yield clients


@pytest.fixture(scope="module")
def able(shared: AsyncExitStack, tmp_path_factory: pytest.TempPathFactory) -> Able:
    """Give the shared client of an era that can be asked everything: `await able(mode)`."""
    opened: dict[str, Front] = {}

    async def give(mode: str = "legacy") -> Front:
        if mode not in opened:
            front = Front(tmp_path_factory.mktemp("able"), mode=mode)
            await shared.enter_async_context(front.client)
            opened[mode] = front
        opened[mode].forget()
        return opened[mode]

    return give


@pytest.fixture(scope="module")
def unable(shared: AsyncExitStack, tmp_path_factory: pytest.TempPathFactory) -> Unable:
    """Give the shared client of an era that can be asked nothing: `await unable(mode)`."""
    opened: dict[str, Client] = {}

    async def give(mode: str) -> Client:
        if mode not in opened:
            client = connect(tmp_path_factory.mktemp("unable"), {"asks": program("asks")}, mode=mode)
            opened[mode] = await shared.enter_async_context(client)
        return opened[mode]

    return give


async def run(client: Client, command: str, **options: Any) -> CallToolResult:
    with anyio.fail_after(60):
        return await client.call_tool("run", {"command": command}, **options)


def text_of(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def value_of(result: CallToolResult) -> Any:
    """What the JSON text of a server says; below it a model is told that it is text."""
    value, told = json.JSONDecoder().raw_decode(text_of(result))
    assert "This is text" in text_of(result)[told:]
    return value


@BOTH_ERAS
async def test_a_server_asks_the_person_at_the_front_while_the_clocks_stand_still(able: Able, mode: str) -> None:
    front = await able(mode)
    front.answer = ElicitResult(action="accept", content={"name": "Ada"})
    front.hesitates = 4  # longer than the run may take

    result = await run(front.client, "asks.elicit()")

    assert front.asked == ["[asks] Your name?"]
    assert value_of(result) == {"action": "accept", "content": {"name": "Ada"}}


@BOTH_ERAS
@pytest.mark.parametrize("server", ["asks", "sessionless"])
async def test_a_server_asks_before_it_gives_a_prompt_or_a_resource(able: Able, server: str, mode: str) -> None:
    front = await able(mode)
    front.answer = ElicitResult(action="accept", content={"name": "Ada"})
    where = "asks://elicit" if server == "asks" else f"onetool://servers/{server}/asks://elicit"

    with anyio.fail_after(60):
        [message] = (await front.client.get_prompt(f"{server}.elicit")).messages
        [content] = (await front.client.read_resource(where)).contents

    assert front.asked == [f"[{server}] Your name?"] * 2
    assert isinstance(message.content, TextContent)
    assert isinstance(content, TextResourceContents)
    assert '"Ada"' in message.content.text
    assert '"Ada"' in content.text


@BOTH_ERAS
async def test_a_server_can_hide_nothing_in_its_question(able: Able, mode: str) -> None:
    front = await able(mode)

    result = await run(front.client, "asks.hide()")

    assert front.asked == ["[asks]\n  | Go on?⟨U+202E⟩⟨U+001B⟩[2K⟨300 line breaks⟩Allow this call?\n  | Yes"]
    assert front.forms[0]["properties"]["ok"] == {
        "type": "boolean",
        "title": "Fine⟨U+3164⟩",
        "description": "a⟨U+001B⟩[0m",
    }
    assert value_of(result)["action"] == "cancel"


@BOTH_ERAS
async def test_two_choices_that_look_the_same_are_not_put_to_the_person(able: Able, mode: str) -> None:
    front = await able(mode)

    result = await run(front.client, "asks.disguise()")

    assert front.asked == []
    assert "which cannot be seen" in text_of(result)


@BOTH_ERAS
async def test_a_server_that_asks_two_hundred_times_at_once_is_one_question(able: Able, mode: str) -> None:
    front = await able(mode)
    front.answer = ElicitResult(action="accept", content={"name": "Ada"})

    result = await run(front.client, "import json\nanswers = json.loads(asks.flood())\n[len(answers), *answers[::199]]")

    [question] = front.asked
    head, *lines = question.split("\n")
    assert head == "[asks] asks 200 questions, and your answer is for all of them:"
    assert lines == [f"  | Delete file {place}?" for place in range(200)]
    assert text_of(result) == "\n".join(["- 200", *["- {action: accept, content: {name: Ada}}"] * 2])


@BOTH_ERAS
async def test_a_server_asks_the_model_at_the_front(able: Able, mode: str) -> None:
    result = await run((await able(mode)).client, "asks.sample()")

    assert value_of(result)["content"] == {"type": "text", "text": "yes"}


@BOTH_ERAS
async def test_without_a_model_of_its_own_llm_asks_the_one_at_the_front(able: Able, mode: str) -> None:
    front = await able(mode)

    result = await run(front.client, "llm.map(items=['a', 'b', 'c'], prompt='Say yes', model='small')['answers']")

    assert text_of(result) == "['yes', 'yes', 'yes']"
    asked = front.sampled[0]
    assert asked.system_prompt is not None
    assert asked.system_prompt.startswith("You work on data for a program.")
    assert asked.model_preferences is not None
    assert asked.model_preferences.hints is not None
    assert asked.model_preferences.hints[0].name == "small"


async def test_the_clock_of_llm_stands_still_while_the_model_at_the_front_is_asked(able: Able) -> None:
    front = await able()
    front.hesitates = 2.5  # longer than a call of llm may take

    assert text_of(await run(front.client, "llm.transform(input='x', prompt='Say yes')")) == "yes"


async def test_a_client_that_refuses_to_ask_its_model_is_an_error_of_the_call(able: Able) -> None:
    front = await able()
    front.answer = ErrorData(code=-1, message="the person said no")

    result = await run(front.client, "llm.transform(input='x', prompt='Say yes')")

    assert result.is_error
    assert "the client did not return an answer of its model" in text_of(result)


@BOTH_ERAS
async def test_without_any_model_llm_says_how_to_get_one(unable: Unable, mode: str) -> None:
    result = await run(await unable(mode), "llm.transform(input='x', prompt='Say yes')")

    assert "no model is configured, and the client offers none" in text_of(result)


@BOTH_ERAS
async def test_a_server_learns_the_roots_of_the_client_at_the_front(able: Able, mode: str) -> None:
    result = await run((await able(mode)).client, "asks.roots()")

    assert value_of(result)["roots"] == [{"uri": "file:///work/notes"}]


@BOTH_ERAS
async def test_without_roots_at_the_front_a_server_learns_of_none(unable: Unable, mode: str) -> None:
    result = await run(await unable(mode), "asks.roots()")

    assert value_of(result)["roots"] == []


@BOTH_ERAS
@pytest.mark.parametrize("tool", ["sample", "elicit"])
async def test_a_question_that_nobody_can_answer_is_declined_and_says_why(unable: Unable, tool: str, mode: str) -> None:
    result = await run(await unable(mode), f"asks.{tool}()")

    assert "no client can provide it" in value_of(result)["message"]


async def test_a_refusal_of_the_client_reaches_the_server(able: Able) -> None:
    front = await able()
    front.answer = ErrorData(code=-1, message="not today")

    result = await run(front.client, "asks.elicit()")

    assert "the client refused: not today" in value_of(result)["message"]


@pytest.mark.filterwarnings("ignore:The logging capability:mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize(
    ("level", "heard"), [(None, []), ("error", []), ("info", [("warning", "asks.inner", "careful")])]
)
async def test_a_servers_log_reaches_a_client_that_asked_for_it(
    able: Able, tmp_path: Path, level: Any, heard: list[tuple[str, str, str]]
) -> None:
    async with AsyncExitStack() as clients:
        if level is None:  # a client that has never asked
            front = Front(tmp_path)
            await clients.enter_async_context(front.client)
        else:
            front = await able()
            await front.client.session.set_logging_level(level)
        await run(front.client, "asks.log()")
        await run(front.client, "1")

    assert [(each.level, each.logger, each.data) for each in front.messages] == heard


async def test_progress_of_a_server_reaches_the_client(able: Able) -> None:
    told: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    front = await able()
    result = await run(front.client, "slow.count(to=3)", progress_callback=listen)

    assert text_of(result) == "3"
    assert any(message and message.startswith("slow.count: step ") for message in told)


async def test_cancelling_a_run_cancels_the_call_at_the_server(able: Able, tmp_path: Path) -> None:
    front = await able()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(front.client.call_tool, "run", {"command": f"slow.hold(folder={str(tmp_path)!r})"})
            while not (tmp_path / "begun").exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        while not front.journal.exists() or not front.journal.read_text():
            await anyio.sleep(0.05)

    assert json.loads(front.journal.read_text()) == {"cancelled": True}
