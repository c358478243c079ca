"""The ot pack in its simplest form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import pytest

from ot.errors import ToolError
from ot.shapes.shapes import Shapes
from ot.store.shelf import Shelf
from tests.opened_executor import open_executor
from tests.packs.answers import value_from
from tests.proxied import Proxied, open_proxied


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Proxied]:
    """The built-in packs, and no server."""
    demo = {"demo": {"enabled": True}}
    async with open_executor() as opened, open_proxied(tmp_path, {}, registry=opened.registry, packs=demo) as engine:
        engine.executor.lend(Shapes(Shelf(tmp_path)))
        yield engine


async def test_the_version_is_the_installed_one() -> None:
    async with open_executor() as opened:
        assert await value_from(opened.executor, "ot.version", {}) == version("onetool-run")


async def test_tools_are_listed_with_their_descriptions_and_found_by_part_of_their_name(engine: Proxied) -> None:
    everything = await value_from(engine.executor, "ot.tools", {})
    some = await value_from(engine.executor, "ot.tools", {"pattern": "DEMO.UP"})

    assert [tool["name"] for tool in everything] == [tool.name for tool in engine.registry.definitions()]
    assert some == [{"name": "demo.upper", "description": "Write a text in capital letters."}]


async def test_packs_are_listed_with_their_source_and_size(engine: Proxied) -> None:
    packs = await value_from(engine.executor, "ot.packs", {"pattern": "proj"})

    description = 'The configured projects, as paths: `proj.onetool / "src"`.'
    assert packs == [{"name": "proj", "source": "local", "tool_count": 2, "description": description}]


async def test_parallel_belongs_to_a_run() -> None:
    async with open_executor() as opened:
        with pytest.raises(ToolError, match="inside a run"):
            await opened.executor.call("ot.parallel", {}, positional=["not a function"])


async def test_tools_are_listed_in_three_degrees_of_detail(engine: Proxied) -> None:
    names = await value_from(engine.executor, "ot.tools", {"pattern": "demo.up", "info": "list"})
    full = await value_from(engine.executor, "ot.tools", {"pattern": "demo.up", "info": "full"})

    assert names == ["demo.upper"]
    assert full[0]["signature"] == "demo.upper(*, text: str) -> str"
    assert full[0]["source"] == "local"
    assert full[0]["args"][0].startswith("text: ")
    assert "demo.upper(" in full[0]["example"]
