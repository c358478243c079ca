"""The audit log of real servers: killed in the middle of a call, two at once, tampered with; and `onetool audit`."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, RawServer, environment_of, start_raw_server
from tests.preloaded import run_preloaded

AUDIT = Path(".onetool") / "state" / "audit"
SECRET = "argument-that-nobody-may-read"


def onetool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=folder, env=environment_of(folder))


def calls_of(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    shown = onetool(folder, "audit", "--json", *arguments)
    assert (shown.returncode, shown.stderr) == (0, "")
    calls: list[dict[str, Any]] = json.loads(shown.stdout)
    return calls


def wait_for_line(folder: Path, text: str) -> None:
    """Wait until a line of the log holds this text."""
    deadline = time.monotonic() + WAIT
    while not any(text in file.read_text() for file in (folder / AUDIT).glob("*.jsonl")):
        assert time.monotonic() < deadline, f"no {text!r} in the log"
        time.sleep(0.02)


def test_a_call_in_flight_when_its_server_is_killed_is_seen_to_have_begun(tmp_path: Path) -> None:
    with start_raw_server(tmp_path, preloaded=False) as server:
        server.run("demo.block(seconds=0)")
        server.start_run(f"demo.block(seconds=600, path='{SECRET}')")
        wait_for_line(tmp_path, '"path"')
        during = calls_of(tmp_path)
        server.process.kill()
        server.wait_for_exit()

    after = calls_of(tmp_path)
    assert [call["outcome"] for call in during] == ["ok", "running"]
    assert [call["outcome"] for call in after] == ["ok", "unknown"]
    assert (after[1]["tool"], after[1]["client"], after[1]["connection"]) == ("demo.block", "raw", 1)
    assert SECRET not in "".join(file.read_text() for file in (tmp_path / AUDIT).iterdir())
    assert onetool(tmp_path, "audit", "--verify").returncode == 0


def block(server: RawServer, times: int) -> int:
    return server.start_run(f"for _ in range({times}):\n    demo.block(seconds=0)")


def test_two_servers_at_once_write_a_chain_each(tmp_path: Path) -> None:
    with start_raw_server(tmp_path) as first, start_raw_server(tmp_path) as second:
        for server, request in [(server, block(server, 5)) for server in (first, second)]:
            assert not server.wait_for_answer(request)["result"]["isError"]
        for server in (first, second):
            server.close_stdin()
            server.wait_for_exit()

    calls = calls_of(tmp_path)
    by_chain = [call["chain"] for call in calls]
    assert [by_chain.count(chain) for chain in set(by_chain)] == [5, 5]
    assert [call["time"] for call in calls] == sorted(call["time"] for call in calls)
    verified = onetool(tmp_path, "audit", "--verify")
    assert (verified.returncode, verified.stdout) == (
        0,
        "OK: every line is as it was written (2 chains, 24 whole lines)\n",
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's home, where three calls were made and one refused; looking at it changes nothing."""
    folder = give_demo(tmp_path_factory.mktemp("home"))
    config = folder / ".onetool" / "onetool.yaml"
    config.write_text(f"{config.read_text()}\npolicy: {{deny: [demo.upper]}}\n")
    calls = "\n".join(["demo.block(seconds=0)"] * 3)
    # Within `try`, since a call that is certain to be refused would keep the others from being made.
    refused = onetool(folder, "run", f"{calls}\ntry:\n    demo.upper(text='{SECRET}')\nfinally:\n    pass")
    assert refused.returncode == 1
    return folder


def test_the_calls_are_shown_as_a_table_newest_last(home: Path) -> None:
    shown = onetool(home, "audit")

    assert (shown.returncode, shown.stderr) == (0, "")
    head, *rows = [line.split() for line in shown.stdout.splitlines()]
    assert head[:5] == ["time", "client", "run", "tool", "outcome"]
    assert [row[2:6] for row in rows] == [["local", "1", "demo.block", "ok"]] * 3 + [
        ["local", "1", "demo.upper", "refused"]
    ]
    assert "policy.deny names demo.upper" in shown.stdout
    assert SECRET not in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["--tool", "demo"], 4),
        (["--tool", "demo.block"], 3),
        (["--tool", "*.upper"], 1),
        (["--tool", "mail"], 0),
        (["--since", "2020-01-01"], 4),
        (["--since", "2999-01-01T12:00"], 0),
    ],
    ids=["pack", "tool", "pattern", "other", "since", "later"],
)
def test_calls_are_chosen_by_tool_and_time(home: Path, arguments: list[str], count: int) -> None:
    assert len(calls_of(home, *arguments)) == count


def test_only_the_latest_calls_are_shown_and_that_there_are_more(home: Path) -> None:
    shown = onetool(home, "audit", "--json", "--limit", "2")

    assert [call["tool"] for call in json.loads(shown.stdout)] == ["demo.block", "demo.upper"]
    assert shown.stderr == "onetool: only the latest 2 calls; --limit N shows more\n"


def test_before_anything_was_called_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert onetool(tmp_path, "audit").stdout == "No calls with side effects are in the log.\n"
    assert onetool(tmp_path, "audit", "--verify").returncode == 0


def test_it_works_beside_a_configuration_that_is_broken(home: Path) -> None:
    config = home / ".onetool" / "onetool.yaml"
    before = config.read_text()
    try:
        config.write_text("{{{")
        assert len(calls_of(home)) == 4
    finally:
        config.write_text(before)


def test_a_time_that_cannot_be_read_is_a_mistake_in_usage(home: Path) -> None:
    shown = onetool(home, "audit", "--since", "yesterday")

    assert shown.returncode == 2
    assert "2026-11-30" in shown.stderr


def test_a_line_that_was_changed_is_named_and_the_status_says_so(home: Path) -> None:
    [file] = (home / AUDIT).iterdir()
    before = file.read_bytes()
    line = before[: before.index(b'"outcome":"ok"')].count(b"\n") + 1
    try:
        file.write_bytes(before.replace(b'"outcome":"ok"', b'"outcome":"no"', 1))
        verified = onetool(home, "audit", "--verify")
        described = onetool(home, "audit", "--verify", "--json")
        listed = onetool(home, "audit")
    finally:
        file.write_bytes(before)

    assert verified.returncode == described.returncode == 1
    assert verified.stdout.splitlines()[0] == f"{file.name}:{line}: this line was changed"
    assert json.loads(described.stdout)["findings"] == [
        {"file": file.name, "line": line, "reason": "this line was changed", "harmless": False}
    ]
    assert listed.returncode == 0
    assert "onetool audit --verify" in listed.stderr


def test_what_stands_in_the_log_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    with start_raw_server(tmp_path, config="policy: {deny: [demo.upper]}") as server:
        server.run("ot.parallel\ndemo.upper(**{'text\\x1b[2K\\u202e': 'a'})")

    shown = onetool(tmp_path, "audit").stdout
    assert "demo.upper" in shown
    assert not {"\x1b", "\u202e"} & set(shown)
