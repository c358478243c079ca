"""The model of a tool's arguments, and the collection of declared tools."""

from __future__ import annotations

import sys
import threading
from enum import Enum
from types import ModuleType
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from mcp_core import ArgumentProblemsError, ToolArguments


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int


class Painting(ToolArguments):
    title: str = Field(description="What it is called")
    consent: Literal["PAINT"]
    style: Literal["oil", "ink"] = "oil"
    colour: Colour | None = None
    size: int = Field(default=3, ge=1, le=9)
    corners: list[Point] = Field(default_factory=list)
    prices: dict[str, float] = Field(default_factory=dict)


@pytest.fixture(autouse=True)
def empty_collection() -> None:
    ToolArguments.get_declared_tools()


def make_tool(name: str, module: str = __name__) -> Any:
    def tool(args: Painting) -> str:
        """Paint it."""
        return args.title

    tool.__name__ = name
    tool.__module__ = module
    return tool


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/base-model-inheritance")
def test_an_argument_that_does_not_exist_and_a_later_wrong_value_are_refused() -> None:
    painting = Painting(title="Sea", consent="PAINT")

    with pytest.raises(ValidationError, match="extra"):
        Painting(title="Sea", consent="PAINT", frame="gold")  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        painting.size = 10


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/schema-markdown-generation")
def test_arguments_are_listed_with_type_need_and_description() -> None:
    assert Painting.to_schema_markdown().splitlines() == [
        "- `title` (string, required): What it is called",
        '- `consent` ("PAINT", required)',
        '- `style` ("oil" | "ink", optional, default \'oil\')',
        '- `colour` ("red" | "blue" | null, optional)',
        "- `size` (integer, optional, >= 1, <= 9, default 3)",
        "- `corners` (array of Point {x, y}, optional)",
        "- `prices` (object of number, optional)",
    ]


@pytest.mark.scenario("infrastructure/tool-arguments-base-class/tool-description-building")
def test_a_description_is_the_docstring_and_the_arguments() -> None:
    description = ToolArguments.build_tool_description(make_tool("paint"))

    assert description == f"Paint it.\n\n{Painting.to_schema_markdown()}"


@pytest.mark.scenario("infrastructure/tool-collection-pattern/tool-declaration")
def test_a_declared_function_is_collected_and_stays_itself() -> None:
    tool = make_tool("paint")

    assert ToolArguments.declare(tool) is tool
    assert ToolArguments.get_declared_tools() == {"paint": tool}


@pytest.mark.scenario("infrastructure/tool-collection-pattern/collection-retrieval")
@pytest.mark.scenario("infrastructure/tool-collection-pattern/double-registration-prevention")
def test_taking_the_tools_empties_the_collection() -> None:
    ToolArguments.declare(make_tool("paint"))

    assert list(ToolArguments.get_declared_tools()) == ["paint"]
    assert ToolArguments.get_declared_tools() == {}


def test_a_package_takes_only_its_own_tools() -> None:
    ToolArguments.declare(make_tool("ours", "studio.tools.tool_ours"))
    ToolArguments.declare(make_tool("theirs", "studio.tools_of_others"))

    assert list(ToolArguments.get_declared_tools(package="studio.tools")) == ["ours"]
    assert list(ToolArguments.get_declared_tools()) == ["theirs"]


def test_a_second_server_finds_the_tools_of_a_module_again() -> None:
    ToolArguments.declare(make_tool("paint", "studio_again"))
    ToolArguments.get_declared_tools()

    ToolArguments.redeclare(ModuleType("studio_again"))

    assert list(ToolArguments.get_declared_tools()) == ["paint"]


@pytest.mark.scenario("infrastructure/tool-collection-pattern/thread-safety")
def test_threads_that_declare_and_take_lose_nothing_and_get_nothing_twice() -> None:
    taken: list[str] = []
    names = [f"tool_{number}" for number in range(400)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(part: list[str]) -> None:
        for name in part:
            ToolArguments.declare(make_tool(name))
            taken.extend(ToolArguments.get_declared_tools())

    threads = [threading.Thread(target=work, args=(names[start::8],)) for start in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert sorted(taken) == sorted(names)


def test_a_function_without_a_model_cannot_be_declared() -> None:
    def tool(text: str) -> str:
        return text

    with pytest.raises(TypeError, match="must take one ToolArguments model"):
        ToolArguments.declare(tool)


def test_everything_wrong_with_a_call_is_said_at_once() -> None:
    with pytest.raises(ArgumentProblemsError) as caught:
        Painting.parse({"title": 7, "size": 12, "frame": "gold", "style": "chalk"}, tool="paint")

    assert str(caught.value).splitlines()[:6] == [
        "The arguments of paint do not fit:",
        "- title: expected string, got integer",
        "- consent: missing",
        "- style: input should be 'oil' or 'ink'",
        "- size: input should be less than or equal to 9",
        "- frame: there is no such argument",
    ]
    assert "- `title` (string, required)" in str(caught.value)
