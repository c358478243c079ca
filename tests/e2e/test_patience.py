"""Runs that take longer than a client waits, with the official client: over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from tests.demo_pack import with_demo
from tests.e2e.http_server import serving_to_anybody
from tests.e2e.raw_server import environment_of
from tests.preloaded import preloaded_command
from tests.proxied import program

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("patience")]

LEGACY, MODERN = "legacy", "2026-07-28"
CONFIG = json.dumps(
    {"execution": {"patience": 0.5}, "policy": {"ask": ["demo.foo"]}, "servers": {"asks": program("asks")}}
)
WAIT = 60.0  # seconds: a bound for a machine that is busy
RUNNING = re.compile(r"Run (r\w+) is still running")
CLIENT_LIMIT = 3.0  # seconds that a client waits for an answer


class Front:
    """A client that can be asked everything, whose person agrees and whose model says yes."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def connect(self, address: str, *, mode: str) -> Client:
        return Client(
            address,
            mode=mode,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample,
            list_roots_callback=self._list_roots,
        )

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message.partition("\n")[0])
        return ElicitResult(action="accept", content={"answer": "once", "name": "Ada"})

    async def _sample(self, context: ClientRequestContext, params: CreateMessageRequestParams) -> CreateMessageResult:
        self.asked.append("the model")
        return CreateMessageResult(role="assistant", content=TextContent(text="yes"), model="m")

    async def _list_roots(self, context: ClientRequestContext) -> ListRootsResult:
        self.asked.append("the roots")
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///work/notes"))])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over HTTP that the tests share."""
    with serving_to_anybody(tmp_path_factory.mktemp("http"), CONFIG) as served:
        yield served


def over_stdio(folder: Path) -> StdioServerParameters:
    folder.mkdir()
    (folder / "onetool.yaml").write_text(with_demo(CONFIG))
    command, *words = preloaded_command("onetool")
    arguments = [*words, "serve", "--config", str(folder / "onetool.yaml")]
    return StdioServerParameters(command=command, args=arguments, env=environment_of(folder), cwd=folder)


def waiting_for(file: Path) -> str:
    """Code that goes on when a file is there."""
    return f"import os, time\nprint('begun')\nwhile not os.path.exists({str(file)!r}): time.sleep(0.01)\n"


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def run(client: Client, command: str, *, limit: float | None = None) -> CallToolResult:
    """Run a command for a client that waits so many seconds for its answer."""
    result = await client.call_tool("run", {"command": command}, read_timeout_seconds=limit)
    assert isinstance(result, CallToolResult)
    return result


async def detach(client: Client, command: str, *, limit: float | None = None) -> str:
    """Begin a run that outlasts patience, and return its id."""
    found = RUNNING.search(text_of(await run(client, command, limit=limit)))
    assert found is not None
    return found[1]


async def wait_for(
    client: Client, identifier: str, *, seconds: float = 45, limit: float | None = None
) -> CallToolResult:
    """Wait until the whole answer is there, as often as it takes."""
    with anyio.fail_after(WAIT):
        while True:
            result = await run(client, f"ot.wait(run={identifier!r}, seconds={seconds})", limit=limit)
            found = RUNNING.search(text_of(result))
            if found is None:
                return result
            identifier = found[1]


async def test_an_answer_arrives_whole_though_the_client_waits_for_less_long(address: str, tmp_path: Path) -> None:
    file = tmp_path / "open"
    command = f"{waiting_for(file)}print('done')\n[demo.picture(), demo.upper(text='whole')]"
    begun: list[str] = []
    answers: list[CallToolResult] = []

    async def use(server: str | StdioServerParameters, mode: str) -> None:
        async with Client(server, mode=mode) as client:
            await run(client, "1")  # what a start takes does not count
            identifier = await detach(client, command, limit=CLIENT_LIMIT)
            begun.append(identifier)
            answers.append(await wait_for(client, identifier, seconds=0.5, limit=CLIENT_LIMIT))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            for mode in (LEGACY, MODERN):
                tasks.start_soon(use, address, mode)
                tasks.start_soon(use, over_stdio(tmp_path / mode), mode)
            while len(begun) < 4:
                await anyio.sleep(0.02)
            await anyio.sleep(CLIENT_LIMIT)  # no answer could have been waited for
            file.touch()

    assert len(answers) == 4
    for answer in answers:
        assert text_of(answer).startswith("begun\ndone\n")
        assert "WHOLE" in text_of(answer)
        assert [block.type for block in answer.content] == ["text", "image"]


@pytest.mark.parametrize(("begins", "waits"), [(LEGACY, MODERN), (MODERN, LEGACY)])
async def test_what_a_run_and_its_servers_ask_reaches_the_client_that_waits(
    address: str, tmp_path: Path, begins: str, waits: str
) -> None:
    file, first, second = tmp_path / "open", Front(), Front()
    asking = "demo.foo(text='agreed'), asks.elicit(), asks.sample(), asks.roots()"
    async with first.connect(address, mode=begins) as client:
        identifier = await detach(client, f"{waiting_for(file)}{asking}")
    file.touch()
    async with second.connect(address, mode=waits) as client:
        answer = await wait_for(client, identifier)

    for heard in ("agreed", "Ada", "yes", "file:///work/notes"):
        assert heard in text_of(answer)
    assert first.asked == []
    assert second.asked == ["Allow this call?", "[asks] Your name?", "the model", "the roots"]


async def test_an_error_and_a_stop_arrive_as_such(address: str, tmp_path: Path) -> None:
    file = tmp_path / "open"
    async with Client(address) as client:
        fails = await detach(client, f"{waiting_for(file)}1 / 0")
        stops = await detach(client, waiting_for(tmp_path / "never"))
        file.touch()
        failed = await wait_for(client, fails)
        stopped = await run(client, f"ot.stop(run={stops!r})")
        later = await wait_for(client, stops)

    assert failed.is_error
    assert "ZeroDivisionError: division by zero\n  line 4: 1 / 0" in text_of(failed)
    assert not stopped.is_error
    assert text_of(later) == text_of(stopped)
    assert later.is_error
