"""Specified behaviour of proxied servers, through real runs."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.app import App
from tests.engine import answer_of, open_engine
from tests.proxied import program

pytestmark = pytest.mark.anyio


def config_of(**servers: Any) -> str:
    return json.dumps({"servers": servers})


async def run(app: App, command: str) -> Any:
    return yaml.safe_load(await answer_of(app, command))


@pytest.mark.scenario("ot/health-check/show-health")
async def test_health_tells_of_every_component(tmp_path: Path) -> None:
    config = config_of(proxy_package_version=program("plain_server"))

    async with open_engine(tmp_path / "project", config=config) as app:
        health = await run(app, "ot.health()")

    assert health["python"] == platform.python_version()
    assert isinstance(health["version"], str)
    assert health["cwd"] == str(Path.cwd())
    assert health["registry"]["status"] == "ok"
    assert health["registry"]["tool_count"] > 0
    assert health["proxy"] == {"status": "ok", "server_count": 1, "servers": {"proxy_package_version": "connected"}}


@pytest.mark.scenario("ot/health-check/disconnected-server")
async def test_health_tells_of_a_server_that_is_not_connected(tmp_path: Path) -> None:
    config = config_of(gone={"command": "no-such-program-anywhere"}, plain=program("plain_server"))

    async with open_engine(tmp_path / "project", config=config) as app:
        health = await run(app, "ot.health()")

    servers = {"gone": "disconnected", "plain": "connected"}
    assert health["proxy"] == {"status": "degraded", "server_count": 2, "servers": servers}
    assert [problem["server"] for problem in health["proxy_problems"]] == ["gone"]


async def test_health_without_servers_is_well(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "project") as app:
        health = await run(app, "ot.health()")

    assert health["proxy"] == {"status": "ok", "server_count": 0, "servers": {}}


async def test_health_tells_of_tools_that_are_not_as_they_were_accepted(tmp_path: Path) -> None:
    # The working folder names the place of a server; by default that is the project, and here there are two.
    config = config_of(changing=program("changing", tmp_path / "counter", cwd=str(tmp_path)))
    reports = []
    for number in range(2):
        async with open_engine(tmp_path / f"project{number}", config=config, home=tmp_path / "home") as app:
            reports.append((await run(app, "ot.health()"))["proxy_problems"])

    assert reports[0] == []
    assert reports[1] == [{"server": "changing", "changed_tools": ["grow"], "new_tools": ["start_1"]}]


@pytest.mark.scenario("ot/pack-discovery/proxy-pack")
async def test_a_proxied_pack_is_listed_with_its_tools(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "project", config=config_of(github=program("odd_schemas"))) as app:
        (found,) = await run(app, 'ot.packs(pattern="github", info="full")')

    assert found["name"] == "github"
    assert found["source"] == "proxy"
    names = [tool["name"] if isinstance(tool, dict) else str(tool) for tool in found["tools"]]
    assert any("recursion" in name for name in names)
    assert any("get_env" in name for name in names)


async def test_code_catches_what_a_server_refuses_and_goes_on(tmp_path: Path) -> None:
    code = """
try:
    crashing.fail()
except ToolError as error:
    caught = str(error)
try:
    crashing.die()
except ConnectionError as error:
    lost = str(error)
[caught, "disk is full" in lost, crashing.fine()]
"""
    config = config_of(crashing=program("crashing", tmp_path / "died"))

    async with open_engine(tmp_path / "project", config=config) as app:
        caught, told, fine = await run(app, code)

    assert caught.endswith("no such row")
    assert (told, fine) == (True, "fine")


async def test_a_server_that_is_not_there_is_an_error_at_its_line_that_code_can_catch(tmp_path: Path) -> None:
    caught = "try:\n    gone.tool()\nexcept ConnectionError as error:\n    told = str(error)\ntold"

    async with open_engine(tmp_path / "project", config=config_of(gone={"command": "no-such-program-anywhere"})) as app:
        plain = await app.runner.run("1\ngone.tool()")
        told = (await app.runner.run(caught)).text

    assert plain.is_error
    assert "line 2: gone: the server gone" in plain.text
    assert "not found: no-such-program-anywhere" in plain.text
    assert "the server gone" in told


async def test_names_that_python_cannot_write_are_reached_either_way(tmp_path: Path) -> None:
    code = 'odd.get_env(from_="a") == getattr(odd, "get-env")(**{"from": "a"}) == {"get-env": {"from": "a"}}'
    config = config_of(odd=program("odd_schemas", json_text=True))

    async with open_engine(tmp_path / "project", config=config) as app:
        assert await run(app, code) is True


async def test_the_guide_server_is_the_pack_guide(tmp_path: Path) -> None:
    rules = tmp_path / "guide" / "rules"
    rules.mkdir(parents=True)
    (rules / "naming.md").write_text("# Naming\n\nNames of tests are sentences.\n")
    guide = {
        "command": str(Path(sys.executable).with_name("mcp-guide")),
        "args": ["--folder", str(rules.parent)],
        "env": {"MCP_TOOL_PREFIX": ""},
    }
    code = 'found = guide.read_documents(documents=["rules/naming"])\n"Names of tests are sentences." in str(found)'

    async with open_engine(tmp_path / "project", config=config_of(guide=guide)) as app:
        assert await run(app, code) is True


async def test_several_servers_are_called_at_once(tmp_path: Path) -> None:
    config = config_of(**{f"slow{number}": program("slow", tmp_path / "journal") for number in range(3)})
    code = "ot.parallel(*[lambda p=p: p.wait(seconds=0.2) for p in (slow0, slow1, slow2) for _ in range(4)])"

    async with open_engine(tmp_path / "project", config=config) as app:
        assert await run(app, code) == ["done"] * 12
