"""A tool that was stopped has stopped: what it would have done does not arrive, whichever kind of tool it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from ot.ai.conversation.messages import ToolMessage
from ot.ai.events import ToolEnded, ToolStarted
from ot.app import App
from ot.caller import Caller
from tests.engine import open_engine
from tests.models.clients import assert_sound, open_client
from tests.models.raw_provider import RawProvider, llama_end, llama_part

WAIT = 3.5  # seconds until a tool does what it is asked for; a worker is killed two seconds after it was told to stop

PACK = '''
"""Tools that take a while."""
from pathlib import Path
import anyio
pack = "late"

async def write(*, begun: str, path: str, seconds: float) -> None:
    """Write a file in a while.

    Args:
        begun: A file that is written at once.
        path: The file.
        seconds: How long that takes.
    """
    Path(begun).touch()
    await anyio.sleep(seconds)
    Path(path).write_text("async")
'''

EXTENSION = '''
"""The same in a worker."""
from pathlib import Path
import time
pack = "slow"

def write(*, begun: str, path: str, seconds: float) -> None:
    """Write a file in a while.

    Args:
        begun: A file that is written at once.
        path: The file.
        seconds: How long that takes.
    """
    Path(begun).touch()
    time.sleep(seconds)
    Path(path).write_text("worker")
'''
KINDS = ("late", "slow", "demo")


async def test_nothing_arrives_from_calls_of_an_answer_that_was_stopped(tmp_path: Path, raw: RawProvider) -> None:
    cancelled, timed_out = tmp_path / "cancelled", tmp_path / "timed_out"
    for folder in (cancelled, timed_out):
        folder.mkdir()
        raw.then(llama_part(calls=_calls(folder)), llama_end())
    raw.then(llama_part("they took too long"), llama_end())

    async with open_engine(tmp_path / "engine", packs={"late": PACK}, extensions={"slow": EXTENSION}) as app:
        await _stop_when_begun(app, raw, cancelled)
        await _let_time_run_out(app, raw)
        await anyio.sleep(WAIT + 0.5)

    begun = {folder.name: sorted(path.name for path in folder.iterdir()) for folder in (cancelled, timed_out)}
    assert begun == {"cancelled": ["late.begun", "slow.begun"], "timed_out": ["late.begun", "slow.begun"]}


async def _stop_when_begun(app: App, raw: RawProvider, folder: Path) -> None:
    """Close the answer when its calls are being carried out."""
    async with open_client("ollama", app.executor, raw.url, tools=["late.*", "slow.*", "demo.block"]) as client:
        with anyio.fail_after(30):
            started = 0
            reply = client.reply("go")
            async for event in reply:
                started += isinstance(event, ToolStarted)
                if started == len(KINDS):
                    await _until(lambda: (folder / "slow.begun").exists() and (folder / "late.begun").exists())
                    await reply.aclose()
        assert_sound(client)
        message = client.memory.messages()[2]
    assert isinstance(message, ToolMessage)
    assert not any(result.ok for result in message.results)


async def _let_time_run_out(app: App, raw: RawProvider) -> None:
    options = {"caller": Caller(timeout=0.5)}
    patterns = ["late.*", "slow.*", "demo.block"]
    async with open_client("ollama", app.executor, raw.url, options=options, tools=patterns) as client:
        ended = [event async for event in client.reply("go") if isinstance(event, ToolEnded)]
    assert all("took longer than 0.5 s. It was stopped." in event.text for event in ended)


def _calls(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    files = {pack: {"begun": f"{folder}/{pack}.begun", "path": f"{folder}/{pack}.done"} for pack in ("late", "slow")}
    return [
        ("late_write", {**files["late"], "seconds": WAIT}),
        ("slow_write", {**files["slow"], "seconds": WAIT}),
        ("demo_block", {"seconds": WAIT, "path": f"{folder}/demo.done"}),
    ]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.sleep(0.01)
