"""The two ways to do a task: as a client of the servers themselves, and as a client of OneTool."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TextIO

import yaml
from mcp import Client, StdioServerParameters
from mcp.client._transport import TransportStreams
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent

from bench.tasks.task import Task
from bench.tasks.transcript import Transcript, definitions_text
from bench.tasks.world import World
from mcp_core.json_types import JsonObject
from tests.tokens import count_tokens

# The name of a run is another one each time, and so is what it costs.
_RUN_ID, _SAME_ID = re.compile(r'ot\.resume\(run="\w+"\)'), 'ot.resume(run="r7whkbbep")'


class WrongAnswerError(Exception):
    """A script did not find the right answer, or a call of it did not go as planned."""


class Direct:
    """Calls of the servers; every result goes through the context."""

    def __init__(self, clients: Mapping[str, Client], world: World, transcript: Transcript) -> None:
        self._clients = clients
        self._world = world
        self._transcript = transcript

    async def call(self, *calls: tuple[str, str, Mapping[str, object]]) -> list[str]:
        texts = []
        begin = time.perf_counter()
        for server, tool, arguments in calls:
            result = await self._clients[server].call_tool(tool, _real(self._world, arguments))
            if result.is_error:
                raise WrongAnswerError(f"{server}: {tool}: {_text(result)}")
            texts.append(self._world.read(_text(result)))
        self._transcript.seconds += time.perf_counter() - begin
        self._transcript.call([(tool, arguments) for _, tool, arguments in calls], texts)
        return texts


class ThroughRun:
    """Runs of code; only what the code gives back goes through the context.

    Code that works calls only tools, with only such arguments, as answers before it have told of.
    """

    def __init__(self, client: Client, world: World, transcript: Transcript) -> None:
        self._client = client
        self._world = world
        self._transcript = transcript
        self._packs = [*world.servers, "time_"]  # Python has a module of that name
        self._told = ""

    async def run(self, code: str) -> str:
        if unknown := [name for name in names_of_calls(code, self._packs) if name not in self._told]:
            raise WrongAnswerError(f"no answer has told of {', '.join(unknown)}\n{code}\n{self._told}")
        return await self._run(code, fails=False)

    async def fail(self, code: str) -> str:
        return await self._run(code, fails=True)

    async def _run(self, code: str, *, fails: bool) -> str:
        begin = time.perf_counter()
        result = await self._client.call_tool("run", {"command": self._world.real(code)})
        self._transcript.seconds += time.perf_counter() - begin
        text = _RUN_ID.sub(_SAME_ID, self._world.read(_text(result)))
        if result.is_error is not fails:
            raise WrongAnswerError(f"{code}\n{text}")
        self._transcript.call([("run", {"command": code})], [text])
        self._told += text
        return text


def names_of_calls(code: str, packs: Collection[str]) -> list[str]:
    """What code has to know of the world's tools to call them: their names, and `argument: ` as signatures write it."""
    names = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(ast.Attribute(ast.Name(pack), tool), _, keywords) if pack in packs:
                names += [tool, *(f"{keyword.arg}: " for keyword in keywords)]
    return names


async def do_directly(task: Task, world: World) -> Transcript:
    world.renew()
    transcript = _begin(task)
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(connect(world, name)) for name in task.servers}
        answer = await task.direct(Direct(clients, world, transcript))
    return _end(task, world, transcript, answer)


async def do_through_run(task: Task, world: World) -> Transcript:
    """With all servers of the world behind OneTool, which has never called any of them before."""
    world.renew()
    transcript = _begin(task)
    async with connect_onetool(world) as client:
        await client.call_tool("run", {"command": f"[ot.resources(server=name) for name in {task.servers}]"})
        answer = await task.through_run(ThroughRun(client, world, transcript))
    return _end(task, world, transcript, answer)


def configure_onetool(world: World) -> None:
    """Give OneTool a home with all servers of the world."""
    file = world.home / ".onetool" / "onetool.yaml"
    file.parent.mkdir(parents=True)
    settings = {name: server.settings() for name, server in world.servers.items()}
    file.write_text(yaml.safe_dump({"servers": settings}))


async def learn_servers(world: World) -> None:
    """Let OneTool ask its servers what tools they have; it begins with that knowledge from then on."""
    async with connect_onetool(world) as client:
        learned = await client.call_tool(
            "run", {"command": f"[ot.resources(server=name) for name in {[*world.servers]}]"}
        )
        if learned.is_error:
            raise WrongAnswerError(_text(learned))
    world.keep(world.home)


async def count_definitions(client: Client) -> int:
    async with client:
        listed = await client.list_tools()
        return count_tokens(definitions_text(listed.tools, client.instructions))


def connect(world: World, name: str) -> Client:
    """A client of one server, whose log nobody reads."""
    return _client(StdioServerParameters(**world.servers[name].settings(), cwd=world.folder))


def connect_onetool(world: World) -> Client:
    environment = {"HOME": str(world.home), "PATH": ""}
    command = [sys.executable, "-m", "onetool", "serve"]
    return _client(StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=world.home))


def _client(parameters: StdioServerParameters) -> Client:
    return Client(_quiet(parameters), mode="legacy", read_timeout_seconds=120)


@asynccontextmanager
async def _quiet(parameters: StdioServerParameters) -> AsyncIterator[TransportStreams]:
    with _open_nowhere() as nowhere:
        async with stdio_client(parameters, errlog=nowhere) as streams:
            yield streams


def _open_nowhere() -> TextIO:
    return Path(os.devnull).open("w")


def _begin(task: Task) -> Transcript:
    transcript = Transcript(count_tokens)
    transcript.ask(task.question)
    return transcript


def _end(task: Task, world: World, transcript: Transcript, answer: str) -> Transcript:
    if answer != task.expected:
        raise WrongAnswerError(f"{task.name}: {answer!r} instead of {task.expected!r}")
    if task.left is not None and task.left(world.folder) != task.expected_left:
        raise WrongAnswerError(f"{task.name} left {task.left(world.folder)!r} instead of {task.expected_left!r}")
    transcript.answer(answer)
    return transcript


def _text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def _real(world: World, arguments: Mapping[str, object]) -> JsonObject:
    real: JsonObject = json.loads(world.real(json.dumps(arguments)))
    return real
