"""Extensions behind the real server, spoken to over stdio by the official client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client

from tests.engine import write_extension
from tests.real_server import connect_server

pytestmark = pytest.mark.anyio

GREET = '''
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Greetings."""

import os

import ot_sdk

pack = "greet"


def hello(*, name: str) -> str:
    """Greet somebody.

    Args:
        name: Who is greeted.

    Returns:
        The greeting.

    Example:
        greet.hello(name="Ada")
    """
    if not name:
        raise ot_sdk.ToolError("nobody to greet")
    return f"Hello, {name}!"


def process() -> int:
    """The process that answers."""
    print("a chatty library")
    return os.getpid()


async def loud(*, text: str) -> str:
    """Through another tool."""
    return await ot_sdk.call("demo.upper", text=text)
'''


async def run(client: Client, code: str) -> str:
    result = await client.call_tool("run", {"command": code})
    text: str = result.content[0].text  # type: ignore[union-attr]
    assert not result.is_error, text
    return text


async def fail(client: Client, code: str) -> str:
    result = await client.call_tool("run", {"command": code})
    text: str = result.content[0].text  # type: ignore[union-attr]
    assert result.is_error, text
    return text


async def value_of(client: Client, code: str) -> Any:
    return yaml.safe_load(await run(client, code))


async def test_an_extension_is_shown_in_full_before_it_is_started_and_then_keeps_its_process(tmp_path: Path) -> None:
    write_extension(tmp_path, "greet", GREET)
    async with connect_server(tmp_path) as client:
        [shown] = await value_of(client, "ot.tools(pattern='greet.hello', info='full')")
        before = await value_of(client, "ot.health()['workers']")
        answers = await value_of(client, "[greet.hello(name='Ada'), greet.process(), greet.loud(text='hi')]")
        again = await value_of(client, "greet.process()")
        [worker] = await value_of(client, "ot.health()['workers']")

    assert shown == {
        "name": "greet.hello",
        "signature": "greet.hello(*, name: str) -> str",
        "description": "Greet somebody.",
        "source": "local",
        "effect": "unknown",
        "args": ["name: Who is greeted."],
        "returns": "The greeting.",
        "example": 'greet.hello(name="Ada")',
    }
    assert before == []
    assert answers == ["Hello, Ada!", again, "HI"]
    assert (worker["pack"], worker["pid"]) == ("greet", again)


async def test_mistakes_are_found_as_for_any_pack(tmp_path: Path) -> None:
    write_extension(tmp_path, "greet", GREET)
    async with connect_server(tmp_path) as client:
        preflight = await fail(client, "greet.hello(nme='Ada')\ngreet.helo(name='Ada')")
        refused = await fail(client, "greet.hello(name='')")
        caught = await run(client, "try:\n    greet.hello(name='')\nexcept ToolError as e:\n    print(e)")

    assert "Nothing was executed." in preflight
    assert "nme is not a parameter" in preflight
    assert "has no tool 'helo'" in preflight
    assert "greet.hello: nobody to greet" in refused
    assert "greet.hello: nobody to greet" in caught


async def test_files_that_come_change_and_go_are_seen_without_a_restart(tmp_path: Path) -> None:
    async with connect_server(tmp_path) as client:
        assert "There is no pack 'late'" in await fail(client, "late.f()")
        file = write_extension(tmp_path, "late", "def f():\n    return 'first'\n")
        await _wait_for(client, "late.f")
        first = await run(client, "late.f()")
        write_extension(tmp_path, "late", "def g():\n    return 'second'\n")
        await _wait_for(client, "late.g")
        second = await run(client, "late.g()")
        file.unlink()
        await _wait_for(client, "late.g", there=False)
        workers = await value_of(client, "ot.health()['workers']")

    assert (first, second, workers) == ("first", "second", [])


async def test_a_run_adds_no_extension_where_nobody_can_be_asked(tmp_path: Path) -> None:
    async with connect_server(tmp_path, config="policy: {ask_timeout: off}") as client:
        refused = await fail(client, "scaffold.extension(name='weather')")

    assert "nobody can be asked" in refused
    assert not (tmp_path / ".onetool" / "tools").exists()


async def test_a_broken_file_is_told_and_harms_nothing(tmp_path: Path) -> None:
    write_extension(tmp_path, "broken", "def f(:\n")
    write_extension(tmp_path, "greet", GREET)
    async with connect_server(tmp_path) as client:
        greeting = await run(client, "greet.hello(name='Ada')")
        [problem] = await value_of(client, "ot.health()['problems']")

    assert greeting == "Hello, Ada!"
    assert problem["file"].endswith("broken_tools.py")
    assert problem["line"] == 1


async def test_names_that_are_taken_lead_somewhere(tmp_path: Path) -> None:
    write_extension(tmp_path, "demo", "def upper(*, text): return f'mine: {text}'\n")
    write_extension(tmp_path, "json", "def dumps(*, value): return f'mine: {value}'\n")
    write_extension(tmp_path, "list", "def first(): return 'mine'\n")
    write_extension(tmp_path, "ot", "def version(): return 'mine'\n")
    async with connect_server(tmp_path) as client:
        demo = await value_of(client, "[demo.upper(text='a'), demo_builtin.upper(text='a')]")
        modules = await value_of(
            client, "import json\n[json.dumps([1]), json_.dumps(value=1), list('ab'), list_.first()]"
        )
        imported = await run(client, "from json_ import dumps\ndumps(value=2)")
        version = await run(client, "ot.version()")
        collisions = await value_of(client, "{c['name']: c['reachable_as'] for c in ot.health()['collisions']}")

    assert demo == ["mine: a", "A"]
    assert modules == ["[1]", "mine: 1", ["a", "b"], "mine"]
    assert imported == "mine: 2"
    assert version != "mine"
    assert collisions == {"demo": "demo_builtin", "json": "json_", "list": "list_", "ot": None}


async def _wait_for(client: Client, tool: str, *, there: bool = True) -> None:
    """A file is noticed by a run that starts a second after the last look."""
    with anyio.fail_after(60):
        while (await value_of(client, f"{tool!r} in ot.tools(info='list')")) is not there:
            await anyio.sleep(0.05)
