"""Listings while a server says nothing: what is known is told at once, and what still connects is named beside it.

Servers here have an hour to say something, so a listing that waited for one would not end in time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.introspect.finder import Finder
from ot.shapes.shapes import Shapes
from ot.store.shelf import Shelf
from tests.engine import open_engine
from tests.opened_executor import open_executor
from tests.proxied import Proxied, open_proxied, program

pytestmark = pytest.mark.anyio

HOUR = 3600.0
NOTE = "[Still connecting, so not listed yet: quiet.]"
FAILED = "[Not connected, so not listed: broken. ot.health() says why.]"


@asynccontextmanager
async def listings(folder: Path) -> AsyncIterator[Proxied]:
    """Every built-in pack, a server `good` that is known from the time before, and `quiet`, which may speak later."""
    good = program("plain_server")
    async with open_proxied(folder, {"good": good}) as proxied:
        await proxied.call("good.echo", text="a")
    servers = {
        "good": good,
        "quiet": program("quiet_until", folder / "released", start_timeout=HOUR, listing_timeout=HOUR),
    }
    async with open_executor() as opened, open_proxied(folder, servers, registry=opened.registry) as proxied:
        proxied.executor.lend(Finder(proxied.registry), Shapes(Shelf(folder / "shapes")))
        yield proxied


async def tell(proxied: Proxied, tool: str, **arguments: Any) -> str:
    """The answer to one call, as the only line of a run makes it."""
    await proxied.servers.catch_up(f"ot.{tool}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
    return (await proxied.executor.answer(f"ot.{tool}", arguments)).text


async def test_what_is_known_is_listed_at_once(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools", {"pattern": "good.", "info": "list"}),
        ("tools", {"pattern": "GOOD", "info": "list"}),
        ("tools", {"pattern": "d.ech", "info": "list"}),
        ("packs", {"pattern": "good"}),
        ("help", {"query": "good.echo"}),
        ("help", {"query": ["good", " ot.tools() "]}),
    ]

    async with listings(tmp_path) as proxied:
        with anyio.fail_after(60):
            value = await proxied.executor.call("ot.tools", {"pattern": "good.", "info": "list"})
            texts = [await tell(proxied, tool, **arguments) for tool, arguments in asked]
        assert proxied.status("quiet").state == "connecting"

    assert value == ["good.echo"]
    for text in texts:
        listing, _, note = text.rpartition("\n")
        assert "good" in listing
        assert note == NOTE


async def test_what_could_be_listed_is_waited_for(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools", {"info": "list"}),
        ("tools", {"pattern": "nobody_knows", "info": "list"}),
        ("tools", {"pattern": "t.nobody", "info": "list"}),
        ("packs", {"pattern": "UIET"}),
        ("help", {"query": "nobody knows it"}),
    ]
    texts: list[str] = []

    async with listings(tmp_path) as proxied:

        async def ask(tool: str, arguments: dict[str, Any]) -> None:
            texts.append(await tell(proxied, tool, **arguments))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for each in asked:
                    tasks.start_soon(ask, *each)
                await anyio.wait_all_tasks_blocked()
                (tmp_path / "released").touch()

    assert len(texts) == len(asked)
    for text in texts:
        assert "quiet" in text
        assert NOTE not in text


async def test_a_run_names_what_is_not_connected_below_its_value(tmp_path: Path) -> None:
    quiet = program("quiet_until", tmp_path / "released", start_timeout=HOUR, listing_timeout=0.1)
    servers = {"quiet": quiet, "broken": {"command": "sh", "args": ["-c", "exit 3"], "listing_timeout": HOUR}}
    code = 'first, again = [ot.tools(pattern="nobody_knows", info="list") for _ in range(2)]\n[first, again, ot.packs("scaf", "list")]'

    async with open_engine(tmp_path / "project", config=json.dumps({"servers": servers})) as app:
        answer = await app.runner.run(code)
        [named, other, overview, unknown] = [
            (await app.runner.run(each)).text
            for each in ('ot.packs("BROK")', 'ot.packs("scaf", "list")', "ot.help()", "nobody.knows()")
        ]

    assert answer.text == f"[[], [], [scaffold]]\n{NOTE}\n{FAILED}"
    assert named == f"[]\n{NOTE}\n{FAILED}"
    assert other == f"[scaffold]\n{NOTE}"  # whose name could not be among these
    assert overview.endswith(f"\n{NOTE}\n{FAILED}")
    [_, refused, absent, _] = unknown.splitlines()
    assert refused.startswith("line 1: There is no pack 'nobody'. Packs: ")
    assert "quiet" not in refused
    assert absent == (
        "Unavailable: broken exited with status 3 before it was ready; quiet is still connecting. ot.health() has the details."
    )
