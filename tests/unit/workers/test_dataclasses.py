"""The dataclasses and TypedDicts of an extension's file: what a call gives for them, and what arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from anyio import fail_after

from ot.errors import ToolArgumentError, ToolFailedError
from ot.execution.wording import word_error
from ot.values import Record
from tests.worker_pool import Engine, open_engine, program

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("shapes")]


@pytest.fixture(scope="module")
async def shapes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    async with open_engine(tmp_path_factory.mktemp("shapes"), program("shapes")) as engine:
        yield engine


@pytest.mark.parametrize(
    ("tool", "arguments", "value"),
    [
        (
            "describe",
            {"route": {"name": "a", "points": [{"x": 1}], "tags": ["b", "a"]}, "home": {"x": 1, "y": 2}},
            ["Route", "Point", "['a', 'b']", "Point(x=1, y=2)", "1"],
        ),
        ("describe", {"route": {"name": "a", "points": [{"x": 1}]}}, ["Route", "Point", "[]", "None", "1"]),
        ("stop", {"stop": {"at": {"x": 3}, "label": "here"}}, "dict Point(x=3, y=0)"),
        (
            "tree",
            {"node": {"name": "a", "below": {"name": "b"}}},
            "Node(name='a', below=Node(name='b', below=None))",
        ),
        ("either", {"shape": {"x": 1}}, "Point"),
        ("either", {"shape": {"name": "a", "points": [{"x": 1}]}}, "Route"),
        ("either", {"shape": "x"}, "str"),
        ("by_name", {"points": {"a": [{"x": 1}]}}, "{'a': (Point(x=1, y=0),)}"),
        ("move", {"point": Record("Point", {"x": 1, "y": 5}), "by": 2}, Record("Point", {"x": 3, "y": 5})),
    ],
    ids=["nested", "left out", "typed dict", "quoted twice", "union", "other side", "text", "mapping", "result"],
)
async def test_arguments_arrive_as_the_dataclasses_of_the_file(
    shapes: Engine, tool: str, arguments: dict[str, Any], value: object
) -> None:
    with fail_after(60):
        arrived = await shapes.executor.call(f"shapes.{tool}", arguments)

    assert (arrived, type(arrived)) == (value, type(value))


async def test_positional_arguments_arrive_as_dataclasses_too(shapes: Engine) -> None:
    with fail_after(60):
        assert await shapes.executor.call("shapes.several", {}, positional=[{"x": 1}, {"x": 2}]) == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("stop", {"stop": {"at": {"z": 3}, "label": "x"}}, 'stop.at: "x" is missing; "z" is not a key'),
        ("describe", {"route": {"name": "a", "points": [{"x": "1"}]}}, "route.points[0].x must be int"),
        ("describe", {"route": {"name": "a", "points": [], "length": 2}}, '"length" is not a key'),
        ("describe", {"route": {"name": "a", "points": []}}, "a route needs points"),
    ],
    ids=["keys", "type", "not an argument", "its own check"],
)
async def test_a_mistake_in_a_dataclass_is_told_where_it_is(
    shapes: Engine, tool: str, arguments: dict[str, Any], words: str
) -> None:
    with fail_after(60), pytest.raises((ToolArgumentError, ToolFailedError)) as caught:
        await shapes.executor.call(f"shapes.{tool}", arguments)

    assert words in word_error(caught.value)
