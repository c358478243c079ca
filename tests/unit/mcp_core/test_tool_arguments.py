"""The form of a tool function, and the collection of declared tools."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from mcp_core import ToolArguments

THREADS = 32
EACH = 25


class Painting(ToolArguments):
    title: str


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


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns between almost any two steps."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def test_a_package_takes_only_its_own_tools() -> None:
    ToolArguments.declare(make_tool("ours", "studio.tools.tool_ours"))
    ToolArguments.declare(make_tool("theirs", "studio.tools_of_others"))

    assert list(ToolArguments.get_declared_tools(package="studio.tools")) == ["ours"]
    assert list(ToolArguments.get_declared_tools()) == ["theirs"]


def test_two_packages_may_use_one_name() -> None:
    first, second = make_tool("paint", "studio.tools"), make_tool("paint", "garage.tools")
    ToolArguments.declare(first)
    ToolArguments.declare(second)

    assert ToolArguments.get_declared_tools(package="studio") == {"paint": first}
    assert ToolArguments.get_declared_tools(package="garage") == {"paint": second}


def test_a_name_that_is_taken_twice_at_once_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    ToolArguments.declare(make_tool("paint", "studio.a"))
    second = ToolArguments.declare(make_tool("paint", "studio.b"))

    assert ToolArguments.get_declared_tools() == {"paint": second}
    assert (logging.WARNING, "Tool paint is declared twice: studio.b replaces studio.a") in [
        (record.levelno, record.getMessage()) for record in caplog.records
    ]


def test_a_second_server_finds_the_tools_of_a_module_again() -> None:
    ToolArguments.declare(make_tool("paint", "studio_again"))
    ToolArguments.get_declared_tools()

    ToolArguments.redeclare(ModuleType("studio_again"))

    assert list(ToolArguments.get_declared_tools()) == ["paint"]


def test_32_threads_that_declare_and_take_lose_nothing_and_get_nothing_twice() -> None:
    taken: Counter[str] = Counter()
    counting = threading.Lock()
    start = threading.Barrier(THREADS)

    def work(thread: int) -> None:
        start.wait()
        for number in range(EACH):
            ToolArguments.declare(make_tool(f"tool_{thread}_{number}"))
            found = ToolArguments.get_declared_tools()
            with counting:
                taken.update(found.keys())

    with switching_often(), ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    taken.update(ToolArguments.get_declared_tools().keys())

    assert taken == Counter(f"tool_{thread}_{number}" for thread in range(THREADS) for number in range(EACH))


def test_coroutines_of_several_event_loops_lose_nothing_and_get_nothing_twice() -> None:
    taken: Counter[str] = Counter()
    counting = threading.Lock()

    async def work(name: str) -> None:
        ToolArguments.declare(make_tool(name))
        await asyncio.sleep(0)
        found = await ToolArguments.take_declared_tools()
        with counting:
            taken.update(found.keys())

    async def run_loop(loop: int) -> None:
        await asyncio.gather(*(work(f"tool_{loop}_{number}") for number in range(50)))

    with switching_often(), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda loop: asyncio.run(run_loop(loop)), range(8)))

    assert taken == Counter(f"tool_{loop}_{number}" for loop in range(8) for number in range(50))


def test_each_event_loop_has_a_lock_of_its_own_and_it_goes_with_the_loop() -> None:
    before = len(ToolArguments._turns)

    for _ in range(3):
        asyncio.run(ToolArguments.take_declared_tools())

    assert len(ToolArguments._turns) <= before + 1


def test_a_function_without_a_model_cannot_be_declared() -> None:
    def tool(text: str) -> str:
        return text

    with pytest.raises(TypeError, match="must take one ToolArguments model"):
        ToolArguments.declare(tool)


def test_a_context_without_its_type_cannot_be_declared() -> None:
    def tool(args: Painting, ctx: Any) -> str:
        return args.title

    del tool.__annotations__["ctx"]
    with pytest.raises(TypeError, match="annotate ctx"):
        ToolArguments.declare(tool)
