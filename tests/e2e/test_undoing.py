"""A run is undone: by clients of both eras, after its server was killed, at the command line and on the dashboard."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, TextContent

from tests.e2e.http_server import serving_to_anybody
from tests.e2e.raw_server import environment_of, start_raw_server
from tests.e2e.test_asking import LEGACY, MODERN, Person, connect
from tests.e2e.test_asking_elsewhere import CLIENTS, approving, begin
from tests.e2e.test_asking_elsewhere import wait_for as wait_for_run
from tests.e2e.test_resuming import wait_for
from tests.engine import write_extension
from tests.models.terminal import in_terminal
from tests.preloaded import run_preloaded

pytestmark = pytest.mark.anyio

Connect = Callable[..., AbstractAsyncContextManager[Client]]
YES = ElicitResult(action="accept", content={"agree": True})
NO = ElicitResult(action="decline")
ASKABLE: dict[str, Any] = {"elicitation": {}}


async def said(client: object, command: str) -> str:
    result = await client.call_tool("run", {"command": command})  # type: ignore[attr-defined]
    text = result.content[0]
    assert isinstance(text, TextContent)
    return text.text


async def latest(client: object) -> str:
    return str(json.loads(await said(client, "import json\njson.dumps(ot.runs(limit=2)[0]['run'])")))


@asynccontextmanager
async def connect_over_http(folder: Path, person: Person, *, mode: str) -> AsyncIterator[Client]:
    with serving_to_anybody(folder, "") as url:
        async with Client(streamable_http_client(url), mode=mode, elicitation_callback=person) as client:
            yield client


@pytest.mark.parametrize("over", [connect, connect_over_http])
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_person_is_shown_what_is_taken_back_and_agrees(tmp_path: Path, mode: str, over: Connect) -> None:
    (tmp_path / "a.txt").write_text("before")
    person = Person(NO, YES)
    async with over(tmp_path, person, mode=mode) as client:
        await said(client, 'file.write(path="a.txt", content="after"); file.write(path="b/c.txt", content="new")')
        run = await latest(client)

        assert "the person said no" in await said(client, f'ot.undo(run="{run}")')
        assert (tmp_path / "a.txt").read_text() == "after"
        assert "restore a.txt" in await said(client, f'ot.undo(run="{run}")')

    assert (tmp_path / "a.txt").read_text() == "before"
    assert not (tmp_path / "b").exists()
    assert person.questions[-1].startswith(f"Undo the run {run}? 3 of its changes are taken back.")


async def test_without_forms_the_person_is_asked_at_a_terminal_and_undoes_the_undo_there(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before")

    def take_back() -> tuple[int, str]:
        words = [sys.executable, "-m", "onetool", "undo"]
        with in_terminal(words, cwd=tmp_path, env=environment_of(tmp_path)) as terminal:
            terminal.wait_for(lambda text: "Allow it?" in text)
            terminal.type("y\n")
            return terminal.wait_for_exit(), terminal.screen.text

    async with CLIENTS["stdio"](tmp_path, "") as client:
        await said(client, 'file.write(path="a.txt", content="after")')
        run = await latest(client)
        waiting = await begin(client, f'ot.undo(run="{run}")')
        assert file.read_text() == "after"
        _, screen = await approving(tmp_path, waiting, "y\n")
        await wait_for_run(client, waiting)

    assert "restore a.txt" in screen
    assert file.read_text() == "before"
    status, screen = await anyio.to_thread.run_sync(take_back)
    assert (status, file.read_text()) == (0, "after"), screen
    assert f"Undo the run {waiting}?" in screen
    audited = run_preloaded("audit", "--json", "--tool", "ot.undo", cwd=tmp_path, env=environment_of(tmp_path)).stdout
    assert [each["outcome"] for each in json.loads(audited)] == ["ok", "ok"], audited


def test_commands_list_runs_and_undo_none_without_a_terminal(tmp_path: Path) -> None:
    environment = environment_of(tmp_path)

    def onetool(*arguments: str) -> str:
        done = run_preloaded(*arguments, cwd=tmp_path, env=environment)
        return done.stdout + done.stderr

    assert onetool("undo", "--list") == "No run of this project has changed anything that is kept.\n"
    onetool("run", 'file.write(path="a.txt", content="x")')
    [listed] = json.loads(onetool("undo", "--list", "--json"))
    assert (listed["changes"], listed["command"]) == (1, 'file.write(path="a.txt", content="x")')

    assert "there is no terminal to ask on" in onetool("undo", listed["run"])
    told = f"nobody can be asked here. A person can type: onetool undo {listed['run']}"
    assert told in onetool("run", f'ot.undo(run="{listed["run"]}")')
    assert (tmp_path / "a.txt").read_text() == "x"


def test_a_run_whose_server_was_killed_is_undone_by_the_next(tmp_path: Path) -> None:
    with start_raw_server(tmp_path, preloaded=False) as server:
        (tmp_path / "a.txt").write_text("before")
        server.start_run('file.write(path="a.txt", content="after")\ndemo.block(seconds=600)\nproj.list()')
        journal = wait_for(tmp_path, '"tool":"demo.block"')
        server.process.kill()
        server.wait_for_exit()
    (run,) = set(re.findall(r'"run":"(r\w+)"', journal))
    assert [each.name for each in (tmp_path / ".onetool/state/undo").iterdir()] == [f"{run}.changes"]

    with start_raw_server(tmp_path, able=ASKABLE) as server:
        identifier = server.start_run(f'ot.undo(run="{run}")')
        server.agree()
        answer = server.wait_for_answer(identifier)

    assert "demo.block(seconds=600)" in answer["result"]["content"][0]["text"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_a_client_that_leaves_in_the_middle_has_undone_nothing_or_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    with start_raw_server(tmp_path, able=ASKABLE) as server:
        server.run('file.write(path="a.txt", content="after"); file.write(path="b/c.txt", content="new")')
        (run,) = set(re.findall(r'"run":"(r\w+)"', wait_for(tmp_path, '"content":"new"')))
        server.start_run(f'ot.undo(run="{run}")')
        server.wait_for_question()
        server.close_stdin()
        server.wait_for_exit()
    assert (tmp_path / "a.txt").read_text() == "after"

    with start_raw_server(tmp_path, able=ASKABLE) as server:
        server.start_run(f'ot.undo(run="{run}")')
        server.agree()
        server.close_stdin()
        server.wait_for_exit()
    left = (tmp_path / "a.txt").read_text(), (tmp_path / "b").exists()
    assert left in (("before", False), ("after", True), ("after", False))  # the latest change is taken back first

    with start_raw_server(tmp_path, able=ASKABLE) as server:
        identifier = server.start_run(f'ot.undo(run="{run}")')
        if left[0] == "after":
            server.agree()
        server.wait_for_answer(identifier)
    assert (tmp_path / "a.txt").read_text() == "before"
    assert not (tmp_path / "b").exists()


SLOW = """
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import time
from pathlib import Path
from typing import Any

import ot_sdk

pack = "bells"


@ot_sdk.undone_by("silence", bell="arguments.bell")
def ring(*, bell: str) -> int:
    return 1


@ot_sdk.undone_by("ring", bell="arguments.bell")
def silence(*, bell: str) -> int:
    folder = Path(__file__).parent
    with (folder / "silenced").open("a") as file:
        file.write(f"{bell} ")
    while (folder / "slow").exists():
        time.sleep(0.01)
    return 1


if __name__ == "__main__":
    ot_sdk.serve()
"""


def test_a_call_whose_undo_was_killed_is_not_made_again(tmp_path: Path) -> None:
    folder = write_extension(tmp_path, "bells", SLOW).parent
    (folder / "slow").touch()
    with start_raw_server(tmp_path, preloaded=False, able=ASKABLE) as server:
        server.run('bells.ring(bell="a")')
        (run,) = set(re.findall(r'"run":"(r\w+)"', wait_for(tmp_path, '"tool":"bells.ring"')))
        server.start_run(f'ot.undo(run="{run}")')
        server.agree()
        journal = wait_for(tmp_path, '"tool":"ot.undo"')
        while not (folder / "silenced").exists():
            assert server.process.poll() is None
        server.process.kill()
        server.wait_for_exit()
    (folder / "slow").unlink()
    (undo,) = set(re.findall(r'"run":"(r\w+)"', journal)) - {run}

    with start_raw_server(tmp_path) as server:
        [again] = server.run(f'ot.undo(run="{run}")')["content"]
        [back] = server.run(f'ot.undo(run="{undo}")')["content"]

    assert "an undo has called bells.silence before, and it is not known how that ended" in again["text"]
    assert "it is not known whether bells.silence was carried out" in back["text"]
    assert (folder / "silenced").read_text().split() == ["a"]
    listed = run_preloaded("undo", "--list", "--json", cwd=tmp_path, env=environment_of(tmp_path)).stdout
    assert {each["run"]: each["changes"] for each in json.loads(listed)} == {run: 1, undo: 1}
