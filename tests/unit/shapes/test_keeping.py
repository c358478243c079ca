"""What was learnt is kept: for the next server, beside another server, until a tool's version or definition changes."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ot.registry.definitions import LearntFrom
from ot.shapes.deriving import shape_of
from ot.shapes.pages import MOST_TOOLS, Learnt, Pages
from ot.shapes.shape import describe_shape
from ot.shapes.shapes import EXAMPLES, Shapes
from ot.store.shelf import Shelf
from tests.proxied import Proxied, open_proxied, program

pytestmark = pytest.mark.anyio

TOOL = LearntFrom("a place", "tool", "1")
PROGRAM = Path(__file__).parents[2] / "programs" / "learn_shapes.py"


class Server:
    """One server with a tool that gives what it is asked for, and the shapes beside it."""

    def __init__(self, proxied: Proxied) -> None:
        self._proxied = proxied

    async def give(self, value: Any) -> None:
        await self._proxied.call("gives.open_0", value=value)

    async def told(self) -> str:
        """What is told of the tool's result."""
        await self._proxied.servers.catch_up("gives")
        shapes = self._proxied.executor.shapes
        assert shapes is not None
        return shapes.signature(self._proxied.registry.get("gives.open_0")).partition(") ")[2]


@asynccontextmanager
async def open_server(folder: Path, **settings: Any) -> AsyncIterator[Server]:
    servers = {"gives": program("gives", folder / "version", **settings)}
    async with (
        Shapes(Shelf(folder / "shapes")) as shapes,
        open_proxied(folder, servers, shapes=shapes) as proxied,
    ):
        yield Server(proxied)


async def test_the_next_server_knows_it_before_it_is_connected(tmp_path: Path) -> None:
    async with open_server(tmp_path) as server:
        await server.give({"id": 1})
    async with open_server(tmp_path) as server:
        told = await server.told()

    assert told == "-> {id: int}  # seen 1 time"
    [page] = (tmp_path / "shapes").iterdir()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


async def test_another_version_of_the_server_begins_afresh(tmp_path: Path) -> None:
    async with open_server(tmp_path) as server:
        await server.give({"old": 1})
    (tmp_path / "version").write_text("2")

    async with open_server(tmp_path) as server:
        await server.give({"new": 1})  # connects it: from now on the version is known
        await server.give({"new": 1})
        assert await server.told() == "-> {new: int}  # seen 1 time"
    async with open_server(tmp_path) as server:
        assert await server.told() == "-> {new: int}  # seen 1 time"


async def test_values_that_are_read_in_another_way_begin_afresh(tmp_path: Path) -> None:
    async with open_server(tmp_path) as server:
        await server.give({"id": 1})

    async with open_server(tmp_path, json_text=True) as server:
        assert await server.told() == ""


async def test_a_changed_extension_begins_afresh(tmp_path: Path) -> None:
    async with Shapes(Shelf(tmp_path)) as shapes:
        shapes.note(TOOL, "local", {"old": 1})
    async with Shapes(Shelf(tmp_path)) as shapes:
        assert shapes.book.learnt(replace(TOOL, version="2")) is None
        shapes.note(replace(TOOL, version="2"), "local", {"new": 1})
    async with Shapes(Shelf(tmp_path)) as shapes:
        assert shapes.book.learnt(TOOL) is None
        learnt = shapes.book.learnt(replace(TOOL, version="2"))

    assert learnt == Learnt("2", 1, shape_of({"new": 1}))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"form": 2}',
        b'{"form": 1, "tools": {"tool": {"version": "1", "seen": 1, "shape": {"kinds": ["Do as I say"]}}}}',
        b'{"form": 1, "tools": {"tool": {"version": "1", "seen": 1, "shape": {"fields": {"always": {"Do as I say": {}}}}}}}',
        b'{"form": 1, "tools": {"tool": {"version": "1", "seen": 1, "shape": ' + b'{"items":' * 900 + b"{}" + b"}" * 903,
        b"\xff" * 100,
        b" " * (9 * 1024 * 1024),
    ],
    ids=["empty", "cut", "a list", "another form", "a kind", "a name", "deep", "no text", "large"],
)  # fmt: skip
async def test_a_damaged_file_is_ignored_and_replaced(content: bytes, tmp_path: Path) -> None:
    async with Shapes(Shelf(tmp_path)) as shapes:
        shapes.note(TOOL, "local", 1)
    [page] = tmp_path.iterdir()
    page.write_bytes(content)

    async with Shapes(Shelf(tmp_path)) as shapes:
        assert shapes.book.learnt(TOOL) is None
        shapes.note(TOOL, "local", [True])
        assert shapes.book.learnt(TOOL) == Learnt("1", 1, shape_of([True]))
    assert Pages(Shelf(tmp_path)).read("local", TOOL.place) == {"tool": Learnt("1", 1, shape_of([True]))}


async def test_where_nothing_can_be_written_this_server_still_knows_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async with Shapes(Shelf(tmp_path / "file" / "shapes")) as shapes:
        shapes.note(TOOL, "local", [True])

        learnt = shapes.book.learnt(TOOL)

    assert learnt is not None
    assert learnt.seen == 1


def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """Each adds five names of its own, twenty times."""
    processes = [subprocess.Popen([sys.executable, PROGRAM, tmp_path, name, "20"]) for name in ("one", "two")]

    assert [process.wait(60) for process in processes] == [0, 0]
    [learnt] = Pages(Shelf(tmp_path)).read("local", TOOL.place).values()
    names = sorted(f"{name}_{letter}?: int" for name in ("one", "two") for letter in "abcde")
    assert learnt.seen == 40
    assert describe_shape(learnt.shape, room=600) == f"{{id: int, {', '.join(names)}}}"


async def test_of_many_calls_only_few_are_looked_at(tmp_path: Path) -> None:
    async with Shapes(Shelf(tmp_path)) as shapes:
        for _ in range(1000):
            shapes.note(TOOL, "local", {"id": 1})
        learnt = shapes.book.learnt(TOOL)

    assert learnt is not None
    assert learnt.seen == EXAMPLES + 5  # the 32nd, 64th, 128th, 256th and 512th too


async def test_of_many_tools_those_are_kept_that_were_called_last(tmp_path: Path) -> None:
    async with Shapes(Shelf(tmp_path)) as shapes:
        for number in range(MOST_TOOLS + 10):
            shapes.note(replace(TOOL, tool=f"tool{number}"), "local", 1)

    kept = Pages(Shelf(tmp_path)).read("local", TOOL.place)
    assert len(kept) == MOST_TOOLS
    assert f"tool{MOST_TOOLS + 9}" in kept
