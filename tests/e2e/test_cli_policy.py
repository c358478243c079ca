"""`onetool policy try`: other rules are tried on the calls of the journal, and nothing is called."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded

COMMANDS = (
    "[demo.upper(text=text) for text in ('a', 'b', 'c')]",
    "demo.foo()\ntry:\n    web.fetch(url='http://127.0.0.1:9/')\nexcept Exception:\n    pass\ndemo.upper(text='ours')",
)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = give_demo(tmp_path_factory.mktemp("home"), "policy: {ask: [demo.bar]}")
    for command in COMMANDS:
        assert onetool(home, "run", command).returncode == 0
    return home


def onetool(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=home, env=environment_of(home))


def tried(home: Path, *arguments: str) -> dict[str, Any]:
    done = onetool(home, "policy", "try", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def changes(found: dict[str, Any]) -> list[tuple[int, str, str, str]]:
    return [(row["calls"], row["tool"], row["then"]["action"], row["then"]["rule"]) for row in found["changes"]]


def test_a_rule_is_tried_on_what_was_called(person: Path) -> None:
    found = tried(person, "--ask", "demo.upper", "--since", "2d")

    assert (found["calls"], found["runs"]) == (6, 2)
    assert (found["today"], found["then"]) == (
        {"denied": 0, "asked": 0, "limited": 0},
        {"denied": 0, "asked": 4, "limited": 0},
    )
    assert changes(found) == [(4, "demo.upper", "asked", "policy.ask names demo.upper")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--ask", "demo.bar"], []),
        (["--deny", "demo.f*"], [(1, "demo.foo", "denied", "policy.deny names demo.f*")]),
        (
            ["--deny", "{tool: demo.upper, where: {text: 'not ours'}}"],
            [(3, "demo.upper", "denied", "policy.deny names demo.upper with text not ours")],
        ),
        (
            ["--deny", "{tool: demo.upper, more_than: 2, per: hour}"],
            [(2, "demo.upper", "denied", "policy.deny names demo.upper, more than 2 per hour")],
        ),
        (
            ["--flow", "demo.foo>demo.upper"],
            [(1, "demo.upper", "asked", "demo.foo was called before, and policy.flows guards its results")],
        ),
        (
            ["--flow", "strangers>demo.upper"],
            [(1, "demo.upper", "asked", "web.fetch was called before, and policy.flows guards its results")],
        ),
        (["--since", "2100-01-01"], []),
    ],
)
def test_every_kind_of_rule_can_be_tried(person: Path, arguments: list[str], expected: list[object]) -> None:
    assert changes(tried(person, *arguments)) == expected


def test_the_rules_of_a_changed_file_are_tried_against_todays(person: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text("policy: {deny: ['demo.*']}")
    found = tried(person, str(changed))
    shown = onetool(person, "policy", "try", str(changed)).stdout

    assert found["then"] == {"denied": 5, "asked": 0, "limited": 0}
    assert "denied   today 0, then 5" in shown
    assert "passes  denied: policy.deny names demo.*" in shown


@pytest.mark.parametrize("how", ["option", "file"])
def test_calls_that_a_limit_would_have_stopped_are_counted(person: Path, tmp_path: Path, how: str) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text("limits: {calls_per_minute: 1}")
    arguments = ["--limit", "calls_per_minute=1"] if how == "option" else [str(changed)]
    found = tried(person, *arguments)

    assert (found["today"]["limited"], found["then"]["limited"]) >= (0, 3)  # a minute may have ended in between
    assert {row[2:] for row in changes(found)} == {("limited", "limits.calls_per_minute is 1")}
    assert "limited: limits.calls_per_minute is 1" in onetool(person, "policy", "try", *arguments).stdout


def test_a_run_that_cannot_be_read_is_counted_and_passed_over(tmp_path: Path) -> None:
    home = give_demo(tmp_path)
    for command in (COMMANDS[0], "demo.upper(text='lost')"):
        assert onetool(home, "run", command).returncode == 0
    [file] = (each for each in (home / ".onetool/state/journal").glob("*.jsonl") if b"lost" in each.read_bytes())
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + b"".join(line.replace(b'"tool"', b'"fool"') for line in lines[1:]))

    found = tried(home, "--ask", "demo.upper")

    assert (found["runs"], found["unreadable"]) == (1, 1)
    assert "1 run could not be read" in onetool(home, "policy", "try", "--ask", "demo.upper").stdout


def test_trying_calls_nothing_and_leaves_the_journal_as_it_is(person: Path) -> None:
    before = onetool(person, "runs", "--json").stdout
    tried(person, "--deny", "*")

    assert onetool(person, "runs", "--json").stdout == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ask", "{tool: a.*, were: {}}"], "unknown key"),
        (["--flow", "web.*"], "FROM>TO"),
        (["--limit", "calls=60"], "KEY=NUMBER"),
        (["--limit", "calls_per_minute=0"], "calls_per_minute: must be greater"),
        (["--since", "yesterday"], "not a date or time"),
        (["no-such-file.yaml"], "no-such-file.yaml"),
    ],
)
def test_a_mistake_is_named(person: Path, arguments: list[str], words: str) -> None:
    done = onetool(person, "policy", "try", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
