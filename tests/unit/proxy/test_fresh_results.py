"""What a server calls fresh for a while is not asked for again meanwhile; its tools are read again once they are not."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from ot.proxy.resources import list_prompts, list_resources, read_resource
from tests.proxied import Proxied, open_proxied, program

pytestmark = pytest.mark.anyio

HOUR = "3600000"


async def use_thrice(proxied: Proxied, uri: str = "fresh://small") -> dict[str, int]:
    """Read and list everything three times; returns what the server was asked."""
    for _ in range(3):
        await list_resources(proxied.servers, "fresh")
        await list_prompts(proxied.servers, "fresh")
        await read_resource(proxied.servers, uri, "fresh")
    asked: dict[str, int] = await proxied.call("fresh.asked")
    return asked


@pytest.mark.parametrize("scope", ["private", "public"])
async def test_what_is_fresh_is_asked_for_once(tmp_path: Path, scope: str) -> None:
    async with open_proxied(tmp_path, {"fresh": program("fresh_for", HOUR, scope)}) as proxied:
        asked = await use_thrice(proxied)

    assert (asked["resources/read"], asked["tools/list"]) == (1, 1)
    lists = ("prompts/list", "resources/list", "resources/templates/list")
    assert max(asked[method] for method in lists) <= 2, "once more where the connection was just reading them itself"


async def test_what_is_stale_at_once_is_asked_for_each_time(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"fresh": program("fresh_for", "0")}) as proxied:
        asked = await use_thrice(proxied)

    assert min(asked["prompts/list"], asked["resources/list"], asked["resources/read"]) >= 3


async def test_what_is_large_is_not_kept(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"fresh": program("fresh_for", HOUR)}) as proxied:
        asked = await use_thrice(proxied, "fresh://large")

    assert asked["resources/read"] == 3


async def test_tools_that_are_fresh_no_more_are_listed_again_after_the_next_call(tmp_path: Path) -> None:
    async with open_proxied(tmp_path, {"fresh": program("fresh_for", "1")}) as proxied:
        with anyio.fail_after(60):
            while (await proxied.call("fresh.asked"))["tools/list"] < 3:
                await anyio.sleep(0.05)
