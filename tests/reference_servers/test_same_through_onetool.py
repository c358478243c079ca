"""Ten servers that others wrote, behind OneTool and directly: clients are given the same prompts and resources."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference
from pydantic import BaseModel

from tests.real_server import connect_server
from tests.reference_servers.servers import NAMES, reference_server

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.xdist_group("same through onetool")]
OURS = "onetool://results/{handle}"


def plain(items: list[Any]) -> list[dict[str, Any]]:
    return [item.model_dump(by_alias=True, exclude_none=True, mode="json") for item in items]


async def contents_of(client: Client) -> dict[str, list[dict[str, Any]]]:
    """Everything that a server lists beside tools."""
    able, found = client.server_capabilities, dict[str, list[dict[str, Any]]]()
    if able.prompts is not None:
        found["prompts"] = plain((await client.list_prompts(cache_mode="bypass")).prompts)
    if able.resources is not None:
        found["resources"] = plain((await client.list_resources(cache_mode="bypass")).resources)
        try:
            listed = await client.list_resource_templates(cache_mode="bypass")
            found["templates"] = plain(listed.resource_templates)
        except MCPError:
            pass  # it knows no templates
    return found


@pytest.fixture(scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, dict[str, Client]]]:
    """A client of OneTool over all servers, and a client of each server."""
    folder = tmp_path_factory.mktemp("same")
    commands = {}
    for name in NAMES:
        (folder / name).mkdir()
        commands[name] = reference_server(name, folder / name)
    config = json.dumps({"servers": {name: each.settings() for name, each in commands.items()}})
    (folder / "home").mkdir()
    async with AsyncExitStack() as stack:
        direct = {
            name: await stack.enter_async_context(Client(StdioServerParameters(**each.settings()), mode="legacy"))
            for name, each in commands.items()
        }
        onetool = await stack.enter_async_context(connect_server(folder / "home", config=config, mode="legacy"))
        wanted = {name: await contents_of(client) for name, client in direct.items()}
        with anyio.fail_after(120):
            while True:
                found = await contents_of(onetool)
                if all(len(found[kind]) >= sum(len(each.get(kind, ())) for each in wanted.values()) for kind in found):
                    break
                await anyio.sleep(0.1)
        yield onetool, direct


async def test_the_same_prompts_resources_and_templates_are_listed(both: tuple[Client, dict[str, Client]]) -> None:
    onetool, direct = both
    found = await contents_of(onetool)
    expected: dict[str, list[dict[str, Any]]] = {"prompts": [], "resources": [], "templates": []}
    for name in sorted(direct):
        for kind, items in (await contents_of(direct[name])).items():
            own = ({**item, "name": f"{name}.{item['name']}"} for item in items)
            expected[kind] += own if kind == "prompts" else items

    assert [each for each in found["templates"] if each["uriTemplate"] != OURS] == expected["templates"]
    assert found["prompts"] == expected["prompts"]
    assert found["resources"] == expected["resources"]
    assert expected["prompts"]
    assert expected["resources"]


async def test_the_same_is_read_filled_in_and_completed(both: tuple[Client, dict[str, Client]], tmp_path: Path) -> None:
    onetool, direct = both
    compared = 0
    for name, client in direct.items():
        listed = await contents_of(client)
        for prompt in listed.get("prompts", ()):
            arguments = {each["name"]: "1" for each in prompt.get("arguments", ())}
            asked = (f"{name}.{prompt['name']}", prompt["name"])
            through, straight = [
                await outcome(each.get_prompt(its, arguments))
                for each, its in zip((onetool, client), asked, strict=True)
            ]
            assert through == straight, prompt["name"]
            compared += 1
            for argument in arguments if client.server_capabilities.completions is not None else ():
                completed = [
                    await outcome(
                        each.complete(PromptReference(type="ref/prompt", name=its), {"name": argument, "value": "E"})
                    )
                    for each, its in zip((onetool, client), asked, strict=True)
                ]
                assert completed[0] == completed[1], (prompt["name"], argument)
        for resource in listed.get("resources", ()):
            uri = resource["uri"]
            assert await outcome(onetool.read_resource(uri)) == await outcome(client.read_resource(uri)), uri
            compared += 1

    assert compared > 10


async def outcome(asking: Any) -> object:
    """The result of a request as plain JSON, or that it was refused."""
    try:
        result = await asking
    except MCPError:
        return "refused"
    assert isinstance(result, BaseModel)
    return result.model_dump(by_alias=True, exclude_none=True, mode="json", exclude={"ttl_ms", "cache_scope"})
