"""Runs of a real server that was killed, resumed by the next one with the same state folder."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.e2e.raw_server import WAIT, start_raw_server
from tests.proxied import program

CONFIG = 'topics: [{pattern: "*", file: notes.yaml}]'
CODE = 'for n in range(3):\n    ot.notify(topic="done", message=f"note {n}")\n'


def wait_for(folder: Path, text: str) -> str:
    """Wait until a line of the journal holds this text, and return all of it."""
    deadline = time.monotonic() + WAIT
    while True:
        journal = "".join(file.read_text() for file in (folder / ".onetool/state/journal").glob("*.jsonl"))
        if text in journal:
            return journal
        assert time.monotonic() < deadline, f"no {text!r} in the journal"
        time.sleep(0.02)


def test_a_run_whose_server_was_killed_is_resumed_by_the_next(tmp_path: Path) -> None:
    with start_raw_server(tmp_path, config=CONFIG, preloaded=False) as server:
        server.start_run(f"{CODE}demo.block(seconds=600)\nproj.list()")
        journal = wait_for(tmp_path, '"tool":"demo.block"')
        server.process.kill()
        server.wait_for_exit()
    (run,) = set(re.findall(r'"run":"(r\w+)"', journal))

    with start_raw_server(tmp_path, config=CONFIG) as server:
        answer = server.run(f'ot.resume(run="{run}")\n{CODE}len(proj.list())')

    assert answer["content"][0]["text"].endswith(f"Calls: 3 were answered from run {run}, 1 was made.")
    notes = [text for file in tmp_path.rglob("notes.yaml") for text in re.findall(r"note \d", file.read_text())]
    assert notes == ["note 0", "note 1", "note 2"]


def test_of_two_servers_with_one_home_only_one_goes_on_from_a_run(tmp_path: Path) -> None:
    first, rest = 'ot.notify(topic="done", message="note 0")\n', 'ot.notify(topic="done", message="note 1")\n'
    with start_raw_server(tmp_path, config=CONFIG, preloaded=False) as server:
        server.start_run(f"{first}demo.block(seconds=600)")
        run = re.findall(r'"run":"(r\w+)"', wait_for(tmp_path, '"tool":"demo.block"'))[0]
        server.process.kill()
        server.wait_for_exit()

    with start_raw_server(tmp_path, config=CONFIG) as other:
        with start_raw_server(tmp_path, config=CONFIG, preloaded=False) as server:
            server.start_run(f'ot.resume(run="{run}")\n{first}{rest}demo.block(seconds=601)')
            (heir,) = set(re.findall(r'"run":"(r\w+)"', wait_for(tmp_path, '{"seconds":601}'))) - {run}
            while_it_goes_on = other.run(f'ot.resume(run="{run}")\n{first}{rest}')["content"][0]["text"]
            server.process.kill()
            server.wait_for_exit()
        once_it_is_lost = other.run(f'ot.resume(run="{run}")\n{first}{rest}')["content"][0]["text"]
        answer = other.run(f'ot.resume(run="{heir}")\n{first}{rest}')["content"][0]["text"]

    assert f"run {heir} goes on from it: it is still running" in while_it_goes_on
    assert f'with ot.resume(run="{heir}")' in once_it_is_lost
    assert f"Calls: 2 were answered from run {heir}, 0 were made." in answer
    notes = [text for file in tmp_path.rglob("notes.yaml") for text in re.findall(r"note \d", file.read_text())]
    assert notes == ["note 0", "note 1"]


@pytest.mark.parametrize(("form", "tool"), [("2025", "wait"), ("extension", "look")])
def test_a_run_goes_on_with_the_task_that_another_server_has_made_of_its_call(
    tmp_path: Path, form: str, tool: str
) -> None:
    (shop := tmp_path / "shop").mkdir()
    config = json.dumps({"servers": {"shop": program("with_tasks", shop, form)}})
    call, journal, runs = f'shop.{tool}(text="a")', "", [""]
    for _ in range(2):
        with start_raw_server(tmp_path, config=config, preloaded=False) as server:
            server.start_run(f'ot.resume(run="{runs[-1]}")\n{call}' if runs[-1] else call)
            journal = wait_for(tmp_path, '"event":"task"' if not runs[-1] else '"event":"reused"')
            server.process.kill()
            server.wait_for_exit()
        runs += [run for run in re.findall(r'"run":"(r\w+)"', journal) if run not in runs]
    (shop / "go").touch()

    with start_raw_server(tmp_path, config=config) as server:
        answer = server.run(f'ot.resume(run="{runs[-1]}")\n{call}')

    assert answer["content"][0]["text"].startswith(f"{tool} done")
    requests = [json.loads(line) for line in (shop / "log").read_text().splitlines()]
    assert [each["method"] for each in requests].count("tools/call") == 1
    assert {each["task"] for each in requests if each["method"] == "tasks/get"} == {f"{tool}-1"}
