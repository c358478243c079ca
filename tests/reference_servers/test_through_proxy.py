"""Servers that others wrote, called through the proxy: over stdio, over HTTP, and over the HTTP of 2024."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.clients.caller import Caller
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.errors import CallError, ToolError
from ot.execution.tool_executor import ToolExecutor
from ot.proxy.resources import fill_prompt, list_prompts, list_resources, read_resource
from ot.registry.registry import ToolRegistry
from ot.shapes.shapes import Shapes
from ot.store.shelf import Shelf
from ot.values import Image
from tests.proxied import Proxied, open_proxied
from tests.reference_servers.returned import calls_without_schema
from tests.reference_servers.servers import NAMES, reference_server, serve_everything

pytestmark = pytest.mark.anyio
shared = pytest.mark.xdist_group("reference servers")

Check = Callable[[Any], bool]


def calls_of(folder: Path) -> dict[str, tuple[str, dict[str, Any], Check]]:
    """For each server a call that needs no network: the tool, its arguments, and what its answer must be."""
    (folder / "notes.txt").write_text("milk and bread")
    repository = str(folder / "repository")
    return {
        "everything": ("get_sum", {"a": 2, "b": 40}, lambda text: "42" in text),
        "filesystem": ("read_text_file", {"path": str(folder / "notes.txt")}, lambda found: "milk" in str(found)),
        "memory": ("read_graph", {}, lambda graph: graph == {"entities": [], "relations": []}),
        "git": ("git_log", {"repo_path": repository}, lambda text: "Begin" in str(text)),
        "time": ("get_current_time", {"timezone": "Europe/Vienna"}, lambda text: "Europe/Vienna" in str(text)),
        "sqlite": ("list_tables", {}, lambda tables: "[]" in str(tables)),
        "thinking": (
            "sequentialthinking",
            {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
            lambda answer: "1" in str(answer),
        ),
    }


def settings_of(name: str, folder: Path) -> dict[str, Any]:
    found = reference_server(name, folder)
    return {"command": found.command, "args": list(found.args), "env": dict(found.env)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every server has one of its own."""
    folder = tmp_path_factory.mktemp("servers")
    for name in NAMES:
        (folder / name).mkdir()
    return folder


@pytest.fixture(scope="module")
async def all_of_them(folder: Path) -> AsyncIterator[Proxied]:
    """Every server, started once and at once for the tests that only ask."""
    servers = {name: settings_of(name, folder / name) for name in NAMES}
    async with open_proxied(folder, servers, environ={"PATH": os.environ["PATH"], "HOME": str(folder)}) as proxied:
        await proxied.servers.probe(90)
        yield proxied


@pytest.fixture
def pack(request: pytest.FixtureRequest) -> str:
    name: str = request.getfixturevalue("name")
    return {"time": "time_"}.get(name, name)


@shared
@pytest.mark.parametrize("name", NAMES)
async def test_it_is_a_pack_and_can_be_called(name: str, pack: str, folder: Path, all_of_them: Proxied) -> None:
    with anyio.fail_after(90):
        await all_of_them.servers.catch_up(name)
        tools = all_of_them.registry.pack(pack).tools
        calls = calls_of(folder / name)
        if name in calls:
            tool, arguments, fits = calls[name]
            answer = await all_of_them.call(f"{pack}.{tool}", **arguments)
            assert fits(answer), answer

    assert tools
    assert all_of_them.status(name).state == "connected"
    assert all_of_them.registry.problems == []


@pytest.mark.parametrize("transport", ["streamableHttp", "sse"])
async def test_everything_over_http(transport: str, tmp_path: Path) -> None:
    with serve_everything(transport) as url:
        async with open_proxied(tmp_path, {"everything": {"url": url}}) as proxied:
            with anyio.fail_after(90):
                await check_everything(proxied)


@shared
async def test_everything_over_stdio(all_of_them: Proxied) -> None:
    with anyio.fail_after(90):
        await check_everything(all_of_them)


async def check_everything(proxied: Proxied) -> None:
    """What the reference server shows of the protocol."""
    assert "hello" in await proxied.call("everything.echo", message="hello")
    image = await proxied.call("everything.get_tiny_image")
    assert any(isinstance(part, Image) for part in image)
    weather = await proxied.call("everything.get_structured_content", location="New York")
    assert isinstance(weather, Mapping)
    assert "temperature" in weather
    told: list[str] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        told.append(message)

    await proxied.call_as(Caller(progress=listen), "everything.trigger_long_running_operation", duration=1, steps=4)
    assert told
    with pytest.raises(CallError):
        await proxied.call("everything.echo")
    resources = await list_resources(proxied.servers, "everything")
    first: Any = next(each for each in resources if "uri" in each)
    assert await read_resource(proxied.servers, first["uri"])
    assert "args-prompt" in {prompt["name"] for prompt in await list_prompts(proxied.servers)}
    filled: Any = await fill_prompt(proxied.servers, "args-prompt", {"city": "Bern"})
    assert "Bern" in filled[0]["content"]


@shared
async def test_what_a_server_refuses_is_an_error_with_its_words(all_of_them: Proxied) -> None:
    with pytest.raises(ToolError, match="outside allowed directories"):
        await all_of_them.call("filesystem.read_text_file", path="/etc/hostname")


async def test_a_server_keeps_the_folder_of_its_arguments_where_the_client_names_none(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    for folder in (data, project):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)

    async with open_proxied(project, {"files": settings_of("filesystem", data)}) as proxied:
        read = await proxied.call("files.read_text_file", path=str(data / "a.txt"))

        assert read == {"content": "data"}
        with pytest.raises(ToolError, match="outside allowed directories"):
            await proxied.call("files.read_text_file", path=str(project / "a.txt"))


@shared
async def test_all_of_them_at_once(all_of_them: Proxied) -> None:
    states = {status.name: status.state for status in all_of_them.servers.status()}

    assert states == dict.fromkeys(NAMES, "connected")


@shared
async def test_one_call_tells_what_a_tool_returns(folder: Path, all_of_them: Proxied, tmp_path: Path) -> None:
    """Of 109 tools 25 declare what they return; 31 of the others need neither a network nor an account."""
    registry = all_of_them.registry
    (folder / "git" / "repository" / "new.txt").write_text("new")
    calls = calls_without_schema(folder)

    with anyio.fail_after(90):
        await all_of_them.servers.catch_up(" ".join(NAMES))
        async with Shapes(Shelf(tmp_path)) as shapes:
            executor = ToolExecutor(registry, config=Config(), secrets=Secrets(), project=folder, shapes=shapes)
            before = told_results(registry, shapes)
            for tool, arguments, _ in calls:
                await executor.call(tool, arguments)
            after = told_results(registry, shapes)

    assert (len(registry.definitions()), len(before), len(after)) == (109, 25, 56)
    for tool, _, expected in calls:
        shown = after[tool].replace("str  # seen 1 time, always JSON: json.loads() makes it ", "JSON: ")
        assert shown.startswith(expected), tool
    assert not [word for word in ("Vienna", "README", "Begin", str(folder)) if word in str(after)]


def told_results(registry: ToolRegistry, shapes: Shapes) -> dict[str, str]:
    """What is told of the result of each tool, where something is."""
    texts = {tool.name: shapes.signature(tool).partition(") -> ")[2] for tool in registry.definitions()}
    return {name: text for name, text in texts.items() if text}
