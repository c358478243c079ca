"""The registry: every tool once, and errors that carry what there is."""

from __future__ import annotations

from typing import Any

import pytest

from ot.errors import PackLoadError, UnknownPackError, UnknownToolError
from ot.registry.definitions import PackDefinition
from ot.registry.registry import ToolRegistry
from tests.opened_executor import define


async def nothing(arguments: dict[str, Any]) -> None:
    """A tool that does nothing."""


@pytest.fixture
def registry() -> ToolRegistry:
    registry = ToolRegistry()
    for name in ("b.two", "a.one", "b.three"):
        registry.register(define(name), nothing)
    return registry


def test_tools_and_packs_are_listed_by_name(registry: ToolRegistry) -> None:
    assert [tool.name for tool in registry.definitions()] == ["a.one", "b.three", "b.two"]
    assert [pack.name for pack in registry.packs()] == ["a", "b"]
    assert set(registry.pack("b").tools) == {"two", "three"}


def test_a_pack_is_described_whether_its_tools_come_before_or_after(registry: ToolRegistry) -> None:
    registry.describe_pack(PackDefinition("b", "The second."))
    registry.describe_pack(PackDefinition("c", "The third."))
    registry.register(define("c.four"), nothing)

    assert (registry.pack("b").description, len(registry.pack("b").tools)) == ("The second.", 2)
    assert (registry.pack("c").description, len(registry.pack("c").tools)) == ("The third.", 1)


def test_an_unknown_name_says_what_there_is(registry: ToolRegistry) -> None:
    with pytest.raises(UnknownPackError) as pack:
        registry.get("x.one")
    with pytest.raises(UnknownToolError) as tool:
        registry.executor("b.four")
    with pytest.raises(UnknownPackError):
        registry.get("nodot")

    assert pack.value.available == ("a", "b")
    assert (tool.value.tool, tool.value.pack, tool.value.available) == ("b.four", "b", ("three", "two"))


@pytest.mark.parametrize("name", ["", "one", "a.b.c", "a.", ".b", "a b.c", "1a.b", "a.b\n"])
def test_a_name_that_is_not_pack_dot_tool_is_refused(registry: ToolRegistry, name: str) -> None:
    with pytest.raises(PackLoadError):
        registry.register(define(name), nothing)


def test_a_definition_without_description_or_object_schema_is_refused(registry: ToolRegistry) -> None:
    with pytest.raises(PackLoadError, match="description"):
        registry.register(define("a.two", description=" "), nothing)
    with pytest.raises(PackLoadError, match="JSON Schema"):
        registry.register(define("a.two", {"type": "string"}), nothing)
