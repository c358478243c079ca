"""Runs as a person looks at them afterwards: listed, shown whole, and played again without making a call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.demo_pack import give_demo
from tests.e2e.raw_server import environment_of
from tests.preloaded import run_preloaded

OWN = """\
# /// script
# requires-python = ">=3.11"
# ///
def add(*, line: str) -> int:
    \"\"\"Add a line to a file and count them.\"\"\"
    from pathlib import Path

    file = Path(__file__).parent / "lines"
    with file.open("a") as stream:
        stream.write(line + "\\n")
    return len(file.read_text().splitlines())


def draw(*, width: int) -> str:
    \"\"\"Draw a line of this width.\"\"\"
    return "-" * width
"""
CODE = """\
try:
    demo.fail(message="no")
except ValueError as error:
    print("caught", error)
own.add(line="a") + own.add(line="b")
"""


class Person:
    """A person with the pack `demo` and an extension that changes something."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "home" / ".onetool" / "tools" / "own"
        self._env = environment_of(give_demo(folder / "home"))
        self.tools.mkdir(parents=True)
        (self.tools / "own_tools.py").write_text(OWN)

    def onetool(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_preloaded(*arguments, cwd=self.folder, env=self._env)

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.onetool("runs", "--json").stdout)
        return found

    @property
    def lines(self) -> list[str]:
        return (self.tools / "lines").read_text().splitlines()


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_run_is_listed_and_shown_whole(person: Person) -> None:
    assert person.onetool("runs").stdout == "The journal has no runs of this project.\n"
    ran = person.onetool("run", CODE)
    assert ran.returncode == 0, ran.stderr

    [run] = person.runs()
    listed = person.onetool("runs").stdout.splitlines()
    shown = person.onetool("runs", "show", run["run"]).stdout
    described = json.loads(person.onetool("runs", "show", run["run"], "--json").stdout)

    assert (run["outcome"], run["error"], run["resumed"]) == ("value", "", "")
    assert listed[0].split() == ["run", "began", "took", "outcome", "client", "command"]
    assert listed[1].startswith(run["run"])
    assert '    own.add(line="a") + own.add(line="b")' in shown
    assert 'own.add(line="a") -> 1' in shown
    assert 'demo.fail(message="no") failed: demo.fail failed: ValueError: no' in shown
    assert [call["tool"] for call in described["calls"]] == ["demo.fail", "own.add", "own.add"]
    assert described["command"] == CODE


def test_a_replay_makes_no_call_and_finds_everything_as_it_was(person: Person) -> None:
    person.onetool("run", CODE)
    [run] = person.runs()

    replayed = person.onetool("replay", run["run"])

    assert replayed.returncode == 0, replayed.stdout
    assert replayed.stdout == f"Run {run['run']} is the same as before: 3 calls, and the answer.\n"
    assert person.lines == ["a", "b"]
    assert len(person.runs()) == 1  # what is only played is no run


def test_a_replay_finds_a_value_that_is_kept_beside_its_line(person: Person) -> None:
    person.onetool("run", "len(own.draw(width=20_000))")
    [run] = person.runs()

    replayed = person.onetool("replay", run["run"])

    assert replayed.stdout == f"Run {run['run']} is the same as before: 1 call, and the answer.\n"


def test_a_replay_says_what_is_different(person: Person) -> None:
    code = "import time\nn = time.time_ns()\nown.add(line=f'{n}')\nown.add(line='c')"
    person.onetool("run", code)
    [run] = person.runs()

    replayed = person.onetool("replay", run["run"])

    assert replayed.returncode == 1
    assert "new call: own.add(line=" in replayed.stdout
    assert "missing call: own.add(line=" in replayed.stdout
    assert "own.add cannot be answered in a replay, which makes no call" in replayed.stdout
    assert len(person.lines) == 2


def test_a_tool_that_has_changed_is_named_and_still_answered(person: Person) -> None:
    person.onetool("run", CODE)
    [run] = person.runs()
    (person.tools / "own_tools.py").write_text(OWN.replace("count them", "count all of them"))

    replayed = person.onetool("replay", run["run"])

    assert replayed.stdout == "changed tool: own.add\n"
    assert person.lines == ["a", "b"]


def test_a_run_that_is_not_there_is_named(person: Person) -> None:
    for command in (("replay", "r0000"), ("runs", "show", "r0000")):
        done = person.onetool(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert "The journal of this project has no run 'r0000'" in done.stderr
    assert person.onetool("runs", "shw").returncode == 2
