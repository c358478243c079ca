"""Tasks with what others wrote: the official client and FastMCP's against our server, and FastMCP's server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_core.json_types import list_of, mapping_of
from ot.clients.caller import Caller
from ot.errors import ToolError, ToolTimeoutError
from tests.e2e.http_server import serving_to_anybody
from tests.proxied import open_proxied
from tests.services.vendors import python_of_clients, run_node_client, run_python_client

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks of others")]

CONFIG = json.dumps({"execution": {"patience": 0.5}, "policy": {"ask": ["demo.foo"]}})
CODE = "import time\ntime.sleep(1.5)\ndemo.foo()\n'whole'"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_to_anybody(tmp_path_factory.mktemp("http"), CONFIG) as served:
        yield served


async def test_the_official_client_of_tasks_gets_the_answer_of_a_long_run(address: str) -> None:
    seen = mapping_of(
        await run_node_client("ext_tasks_client.mjs", address, CODE, package="@modelcontextprotocol/ext-tasks")
    )

    assert "whole" in str(mapping_of(seen["result"])["content"])
    assert len(list_of(seen["asked"])) == 1
    assert ["tasks/update", "complete"] in list_of(seen["seen"])


@pytest.mark.long
async def test_the_client_of_fastmcp_gets_the_answer_of_a_long_run(address: str) -> None:
    seen = mapping_of(await run_python_client("fastmcp_client.py", address, CODE))

    assert seen["text"] == "whole"
    assert seen["is_error"] is False
    assert len(list_of(seen["asked"])) == 1


async def test_tasks_of_a_server_of_fastmcp_are_calls_like_any_other(tmp_path: Path) -> None:
    file = Path(__file__).with_name("fastmcp_server.py")
    settings = {"command": str(python_of_clients()), "args": [str(file)], "start_timeout": 120}
    async with open_proxied(tmp_path, {"lab": settings}) as proxied:
        with anyio.fail_after(150):
            await proxied.servers.probe(120)
            found = await proxied.call("lab.analyze", sample="salt")
            with pytest.raises(ToolError, match="the glass was empty"):
                await proxied.call("lab.spill")
            with pytest.raises(ToolTimeoutError):
                await proxied.call_as(Caller(timeout=2.0), "lab.brew")

    assert found == "salt is pure"
