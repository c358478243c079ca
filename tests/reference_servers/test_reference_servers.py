"""The servers that other tests rely on start, and list their tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.longer import long_after
from tests.reference_servers.servers import NAMES, reference_server, serve_everything


@pytest.mark.anyio
@pytest.mark.parametrize("name", long_after(2, NAMES))
async def test_it_starts_and_lists_tools(name: str, tmp_path: Path) -> None:
    parameters = StdioServerParameters(**reference_server(name, tmp_path).settings(), cwd=tmp_path)

    async with Client(parameters, mode="legacy") as client:
        listed = await client.list_tools()

    assert listed.tools


@pytest.mark.anyio
async def test_one_of_them_serves_http_too() -> None:
    with serve_everything() as url:
        async with Client(url, mode="legacy") as client:
            listed = await client.list_tools()

    assert "echo" in {tool.name for tool in listed.tools}


def test_a_missing_server_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.reference_servers.servers._PROGRAMS", tmp_path)
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="MISSING: the reference server time"):
        reference_server("time", tmp_path)
