"""The server in one process with its client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    EmptyResult,
    Implementation,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Request,
    Root,
    TextContent,
    ToolListChangedNotification,
)
from opentelemetry.trace import format_trace_id, get_current_span

from mcp_core.quick_dataclass import replace
from onetool.front.late_app import LateApp, open_late_app
from onetool.front.offer import Offer, open_offer
from onetool.front.server import OneToolServer, watching_operations
from onetool.replicas.draining import NO_NEW_RUNS, Draining
from ot.clients.caller import Caller, Choice, ClientMemory
from ot.clients.person import LOCAL_PERSON
from ot.telemetry.meters import OTHER, Meters
from ot.telemetry.telemetry import Telemetry
from tests.engine import open_engine

pytestmark = pytest.mark.anyio


CONFIG = "policy: {ask: [demo.upper]}\nexecution: {warm: 1}\n"
TELLING = '''
"""A pack that turns to its client."""

from ot.context import current

pack = "telling"


async def tell(*, level: str) -> str:
    """Write a line of this level to the client's log."""
    await current().caller.front.log(level, "telling", "told")
    return level


async def name() -> str:
    """Give the name of the client."""
    return current().caller.client


async def ask(*, method: str, params: dict) -> dict:
    """Send the client a request."""
    return await current().caller.front.request(method, params, "")
'''
ERAS = ["legacy", "auto"]


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LateApp]:
    folder = tmp_path_factory.mktemp("server")
    async with open_late_app(lambda: open_engine(folder, config=CONFIG, packs={"telling": TELLING})) as app:
        yield app


@pytest.fixture
def server(app: LateApp) -> OneToolServer:
    return OneToolServer(app, Offer(app))


async def run(client: Client, command: str) -> CallToolResult:
    return await client.call_tool("run", {"command": command})


def text_of(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


@pytest.mark.scenario("infrastructure/tool-integration-pattern/automatic-registration-with-descriptions")
@pytest.mark.scenario("infrastructure/tool-integration-pattern/tool-module-import-triggers-collection")
@pytest.mark.parametrize("mode", ERAS)
async def test_every_server_of_a_process_has_the_tool(app: LateApp, mode: str) -> None:
    for server in (OneToolServer(app, Offer(app)), OneToolServer(app, Offer(app))):
        async with Client(server, mode=mode) as client:
            [tool] = (await client.list_tools()).tools
            result = await client.call_tool("run", {"command": "6 * 7"})

        assert tool.name == "run"
        assert "- `command` (string, required): Python code" in (tool.description or "")
        assert "you get its id, and its answer from `ot.wait`" in (tool.description or "")
        assert text_of(result) == "42"


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("answer", "succeeds"),
    [
        (ElicitResult(action="accept", content={"answer": "once"}), True),
        (ElicitResult(action="accept", content={"answer": "no"}), False),
        (ElicitResult(action="accept", content={"answer": "perhaps"}), False),
        (ElicitResult(action="decline"), False),
        (ElicitResult(action="cancel"), False),
    ],
    ids=["yes", "no", "nonsense", "declined", "cancelled"],
)
async def test_a_person_is_asked_where_the_policy_wants_it(
    server: OneToolServer, answer: ElicitResult, mode: str, *, succeeds: bool
) -> None:
    questions = []

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return answer

    async with Client(server, mode=mode, elicitation_callback=ask) as client:
        result = await run(client, "demo.upper(text='hi')")

    assert len(questions) == 1
    assert "demo.upper" in questions[0]
    assert (text_of(result) == "HI") is succeeds
    assert bool(result.is_error) is not succeeds


@pytest.mark.parametrize("mode", ERAS)
async def test_a_call_that_needs_a_person_fails_where_nobody_can_be_asked(server: OneToolServer, mode: str) -> None:
    async with Client(server, mode=mode) as client:
        result = await run(client, "demo.upper(text='hi')")

    assert result.is_error
    assert "demo.upper" in text_of(result)


@pytest.mark.parametrize(("mode", "asked"), [("legacy", 2), ("auto", 1)])
async def test_a_yes_for_a_client_is_remembered_for_its_connection_or_its_person(
    server: OneToolServer, mode: str, asked: int
) -> None:
    questions = []

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": "client"})

    for _ in range(2):
        async with Client(server, mode=mode, elicitation_callback=ask) as client:
            for _ in range(2):
                assert text_of(await run(client, "demo.upper(text='hi')")) == "HI"

    assert len(questions) == asked


@pytest.mark.parametrize("mode", ERAS)
async def test_the_first_client_goes_on_with_what_it_did_before_the_sdk_was_loaded(app: LateApp, mode: str) -> None:
    async def agree(question: str, choices: Sequence[Choice]) -> Choice:
        return Choice.CLIENT

    before = ClientMemory(1)
    await (await app.get()).runs.run("demo.upper(text='hi')", caller=Caller(ask=agree, memory=before))
    server = OneToolServer(app, Offer(app), first_client=before)
    async with Client(server, mode=mode) as first, Client(server, mode="legacy") as second:
        results = [await run(client, "demo.upper(text='hi')") for client in (first, second)]

    assert [result.is_error for result in results] == [False, True]


@pytest.mark.parametrize("mode", ERAS)
async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_one_there_is(
    server: OneToolServer, mode: str
) -> None:
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError, match=r"Unknown tool: ruin\. This server has: run") as refused:
            await client.call_tool("ruin", {"command": "1"})

    assert refused.value.error.code == INVALID_PARAMS


@pytest.mark.parametrize("state", ["", "made up", ".r2222222.made up"])
async def test_a_state_that_was_not_given_out_begins_no_run(server: OneToolServer, state: str) -> None:
    async with Client(server) as client:
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.session.call_tool("run", {"command": "1"}, request_state=state)
        with pytest.raises(MCPError, match="Invalid or expired requestState"):
            await client.session.call_tool(
                "run", {"command": "1"}, input_responses={"a": ElicitResult(action="decline")}
            )


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
async def test_a_client_hears_the_log_from_the_level_on_that_it_asks_for(server: OneToolServer) -> None:
    heard: list[str] = []

    async def hear(params: LoggingMessageNotificationParams) -> None:
        heard.append(f"{params.level} {params.logger} {params.data}")

    telling = "for level in ('emergency', 'warning', 'notice', 'loud'): telling.tell(level=level)"
    async with Client(server, mode="legacy", logging_callback=hear) as client, Client(server, mode="legacy") as other:
        await run(client, telling)
        assert heard == []
        await client.set_logging_level("warning")
        await other.set_logging_level("debug")
        await run(client, telling)

    assert heard == ["emergency telling told", "warning telling told"]


ASKING_A_MODEL = {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5}


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (("sampling/createMessage", ASKING_A_MODEL), "from a model"),
        (("sampling/createMessage", {}), "does not fit the protocol"),
        (("roots/list", {}), "file:///here"),
    ],
)
async def test_tools_turn_to_the_client_for_what_it_can_do(
    server: OneToolServer, asked: tuple[str, object], text: str
) -> None:
    async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(text="from a model"), model="m")

    async def list_roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///here")])  # type: ignore[arg-type]

    async with Client(server, mode="legacy", sampling_callback=sample, list_roots_callback=list_roots) as client:
        result = await run(client, f"telling.ask(method={asked[0]!r}, params={asked[1]!r})")

    assert text in text_of(result)
    assert "null" not in text_of(result)


@pytest.mark.parametrize("mode", ERAS)
async def test_a_run_knows_the_name_of_its_client(server: OneToolServer, mode: str) -> None:
    async with Client(server, mode=mode, client_info=Implementation(name="a client", version="1")) as client:
        assert text_of(await run(client, "telling.name()")) == "a client"


async def test_what_clients_can_do_is_noted_as_they_come() -> None:
    async def sample(context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        raise AssertionError("nobody asks")

    for mode in ERAS:
        late = LateApp()
        async with Client(OneToolServer(late, Offer(late)), mode=mode, sampling_callback=sample):
            assert list(late.clients.claims) == ["sampling"]


async def test_a_server_that_is_about_to_end_takes_no_new_runs(app: LateApp) -> None:
    draining = Draining()
    async with Client(OneToolServer(app, Offer(app), draining=draining), mode="legacy") as client:
        assert text_of(await run(client, "1")) == "1"
        await draining.drain(0)
        refused = await run(client, "1")

    assert refused.is_error
    assert text_of(refused) == NO_NEW_RUNS


async def test_a_request_is_answered_without_its_run_when_there_is_no_more_time(app: LateApp) -> None:
    draining = Draining()
    results: list[CallToolResult] = []
    begun = anyio.Event()

    async def ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    server = OneToolServer(app, Offer(app), draining=draining)
    async with Client(server, mode="legacy", elicitation_callback=ask) as client, anyio.create_task_group() as tasks:

        async def call() -> None:
            results.append(await run(client, "demo.upper(text='hi')"))

        tasks.start_soon(call)
        with anyio.fail_after(60):
            await begun.wait()
            await draining.drain(0)

    assert results[0].is_error
    assert "ot.resume(run=" in text_of(results[0])


@pytest.mark.parametrize("mode", ERAS)
async def test_whoever_listed_tools_or_listens_hears_when_there_are_others(tmp_path: Path, mode: str) -> None:
    told: list[object] = []
    heard = anyio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            told.append(message)
            heard.set()

    home = tmp_path / "home"
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_late_app(lambda: open_engine(home)))
        offer = await stack.enter_async_context(open_offer(app))
        client = await stack.enter_async_context(Client(OneToolServer(app, offer), mode=mode, message_handler=hear))
        if mode != "legacy":
            changes = await stack.enter_async_context(client.listen(tools_list_changed=True))
        for _ in range(2):
            assert "arrived" not in str(await client.session.list_tools())
        (home / ".onetool" / "tools").mkdir()
        (home / ".onetool" / "tools" / "arrived.py").write_text(
            "pack = 'arrived'\n\n\ndef now() -> int:\n    return 1\n"
        )
        await run(client, "ot.reload()")
        with anyio.fail_after(60):
            if mode == "legacy":
                await heard.wait()
            else:
                await anext(aiter(changes))
        assert "arrived" in str(await client.list_tools())
        assert len(told) == 1


async def test_requests_are_counted_with_what_went_wrong(app: LateApp) -> None:
    meters = Meters()
    async with Client(OneToolServer(app, Offer(app), Telemetry(meters)), mode="legacy") as client:
        await run(client, "1")
        await run(client, "1 / 0")
        with pytest.raises(MCPError):
            await client.call_tool("ruin")
        with pytest.raises(MCPError):
            await client.session.send_request(Request(method="tasks/list", params=None), EmptyResult)

    counted = dict(meters.operations.series())
    assert {labels for labels in counted if labels[1]} == {
        ("tools/call", "tool_error"),
        (OTHER, str(METHOD_NOT_FOUND)),
        ("tools/call", str(INVALID_PARAMS)),
    }
    assert ("tools/call", "") in counted
    assert all(0 <= series.total < 60 for series in counted.values())


@pytest.mark.parametrize(
    ("headers", "trace"), [({"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}, "1" * 32), ({}, "0" * 32)]
)
async def test_a_request_is_part_of_the_trace_that_its_header_names(headers: dict[str, str], trace: str) -> None:
    async def show(ctx: object) -> dict[str, str]:
        return {"trace": format_trace_id(get_current_span().get_span_context().trace_id)}

    context: Any = SimpleNamespace(method="ping", request=SimpleNamespace(headers=headers))

    assert await watching_operations(Telemetry())(context, show) == {"trace": trace}
    assert await show(None) == {"trace": "0" * 32}


async def test_of_too_many_clients_those_who_came_last_hear_of_changes(app: LateApp) -> None:
    engine, heard, all_heard = await app.get(), list[int](), anyio.Event()
    usual = engine.runner.settings

    async def hear(number: int, _: str) -> None:
        heard.append(number)
        if number == 257:
            all_heard.set()

    async with open_offer(app) as offer:
        for number in range(258):
            forget = offer.watch(LOCAL_PERSON, partial(hear, number))
            if number == 100:
                forget()
        await offer.describe(LOCAL_PERSON)
        try:
            engine.runner.settings = replace(usual, timeout=7)  # which the description names
            engine.registry.on_change()
            with anyio.fail_after(60):
                await all_heard.wait()
        finally:
            engine.runner.settings = usual

    assert heard == [number for number in range(1, 258) if number != 100]


async def test_nobody_hears_of_a_change_that_leaves_the_description_as_it_was(
    app: LateApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onetool.front.offer.SETTLE", 0)
    engine, heard = await app.get(), anyio.Event()

    async def hear(_: str) -> None:
        heard.set()

    async with open_offer(app) as offer:
        offer.watch(LOCAL_PERSON, hear)
        for _ in range(2):
            engine.registry.on_change()
            await anyio.sleep(0.02)
            assert not heard.is_set()
            await offer.describe(LOCAL_PERSON)
