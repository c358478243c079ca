"""A tool that was stopped has stopped, whichever kind of tool it is: its task has ended, or its process is gone."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio

from ot.ai.messages import ToolEnded, ToolMessage, ToolStarted
from ot.app import App
from ot.clients.caller import Caller
from tests.engine import open_engine
from tests.models.clients import assert_sound, open_client
from tests.models.raw_provider import RawProvider, llama_end, llama_part

BODY = '''
    """Take an hour.

    Args:
        begun: A file that is written at once, with the number of the process.
        ended: A file that is written where the call ends early, and not at once with its process.
    """
    Path(begun).write_text(str(os.getpid()))
    try:
        {wait}
    finally:
        Path(ended).touch()
'''
PACK = (
    '"""Tools that take a while, on the event loop and in a helper process."""\n'
    "from pathlib import Path\nimport os\nimport time\nimport anyio\nfrom ot.isolate import isolated\n"
    'pack = "late"\n\n'
    f"async def task(*, begun: str, ended: str) -> None:{BODY.format(wait='await anyio.sleep(3600)')}\n"
    "@isolated(writes=['{project}'])\n"
    f"def helper(*, begun: str, ended: str) -> None:{BODY.format(wait='time.sleep(3600)')}\n"
)
EXTENSION = (
    '"""The same in a worker."""\nfrom pathlib import Path\nimport os\nimport time\npack = "slow"\n\n'
    f"def worker(*, begun: str, ended: str) -> None:{BODY.format(wait='time.sleep(3600)')}\n"
)
TOOLS = {"late.task": "late_task", "late.helper": "late_helper", "slow.worker": "slow_worker"}


async def test_nothing_goes_on_of_calls_of_an_answer_that_was_stopped(tmp_path: Path, raw: RawProvider) -> None:
    cancelled, timed_out = tmp_path / "engine" / "cancelled", tmp_path / "engine" / "timed_out"
    for folder in (cancelled, timed_out):
        folder.mkdir(parents=True)
        raw.then(llama_part(calls=_calls(folder)), llama_end())
    raw.then(llama_part("they took too long"), llama_end())

    async with open_engine(tmp_path / "engine", packs={"late": PACK}, extensions={"slow": EXTENSION}) as app:
        await _stop_when_begun(app, raw, cancelled)
        await _all_ended(cancelled)
        await _let_time_run_out(app, raw, timed_out)
        await _all_ended(timed_out)


async def _stop_when_begun(app: App, raw: RawProvider, folder: Path) -> None:
    """Close the answer when its calls are being carried out."""
    async with open_client("ollama", app.executor, raw.url, tools=[*TOOLS]) as client:
        with anyio.fail_after(60):
            started = 0
            reply = client.reply("go")
            async for event in reply:
                started += isinstance(event, ToolStarted)
                if started == len(TOOLS):
                    await _until(lambda: len(list(folder.glob("*.begun"))) == len(TOOLS))
                    await reply.aclose()
        assert_sound(client)
        message = client.memory.messages()[2]
    assert isinstance(message, ToolMessage)
    assert not any(result.ok for result in message.results)


async def _let_time_run_out(app: App, raw: RawProvider, folder: Path) -> None:
    async with open_client(
        "ollama", app.executor, raw.url, options={"caller": Caller(timeout=0.5)}, tools=[*TOOLS]
    ) as client:
        ended = [event async for event in client.reply("go") if isinstance(event, ToolEnded)]
    assert [event.text.partition(". ")[2] for event in ended] == ["It was stopped."] * len(TOOLS)
    assert all("took longer than 0.5 s" in event.text for event in ended)


async def _all_ended(folder: Path) -> None:
    """Until nothing is left of the calls that had begun: a task has ended, a process is gone."""
    for begun in folder.glob("*.begun"):
        process = int(begun.read_text() or 0)
        ended = begun.with_suffix(".ended")
        with anyio.fail_after(30):
            if process == os.getpid():
                await _until(ended.exists)
            elif process:
                await _until(partial(_is_gone, process))


def _is_gone(process: int) -> bool:
    return not Path(f"/proc/{process}").exists()


def _calls(folder: Path) -> list[tuple[str, dict[str, str]]]:
    return [(name, {"begun": f"{folder}/{name}.begun", "ended": f"{folder}/{name}.ended"}) for name in TOOLS.values()]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.sleep(0.01)
