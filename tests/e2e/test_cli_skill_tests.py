"""Skills that are made of runs, and whose examples are played again without making a call."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.test_cli_runs import OWN, Person

CODE = "print(own.add(line='a'))\nown.add(line='b') + 1"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def skill_file(person: Person, name: str) -> Path:
    return person.folder / ".onetool" / "skills" / name


def test_a_run_becomes_a_skill_whose_example_is_played_from_its_calls(person: Person) -> None:
    assert person.onetool("run", CODE).stdout == "1\n3\n"
    [run] = person.runs()

    saved = person.onetool("skills", "save", run["run"], "add_two", "--description", "Add two lines.")
    tested = person.onetool("skills", "test")

    assert saved.returncode == 0, saved.stderr
    assert tested.stdout == "add_two: 2 calls, as recorded\n"
    assert person.lines == ["a", "b"]
    assert person.onetool("run", "skills.add_two()").stdout == "3\n5\n"  # it is trusted, and makes its calls
    assert person.lines == ["a", "b", "a", "b"]


def test_what_has_changed_since_is_said(person: Person) -> None:
    person.onetool("run", CODE)
    [run] = person.runs()
    person.onetool("skills", "save", run["run"], "add_two")
    (person.tools / "own_tools.py").write_text(OWN.replace("count them", "count all of them"))

    changed = person.onetool("skills", "test", "add_two")
    (person.tools / "own_tools.py").write_text(OWN.replace("def add(", "def append("))
    gone = person.onetool("skills", "test", "add_two")

    assert (changed.returncode, changed.stdout.splitlines()) == (
        0,
        ["add_two: 2 calls, as recorded", "    own.add has changed since"],
    )
    assert gone.returncode == 1
    assert "    own.add is gone" in gone.stdout.splitlines()


def test_an_example_that_asks_for_other_calls_fails_and_makes_none(person: Person) -> None:
    person.onetool("run", CODE)
    [run] = person.runs()
    person.onetool("skills", "save", run["run"], "add_two")
    file = skill_file(person, "add_two.py")
    file.write_text(file.read_text().replace("line='b'", "line='c'"))
    assert person.onetool("trust", "--yes").returncode == 0

    tested = person.onetool("skills", "test")

    assert tested.returncode == 1
    assert 'new call: own.add(line="c")' in tested.stdout
    assert re.search(r'missing call: own.add\(line="b"\)', tested.stdout)
    assert person.lines == ["a", "b"]


def test_calls_are_recorded_anew_when_a_person_asks_for_it(person: Person) -> None:
    person.onetool("run", CODE)
    [run] = person.runs()
    person.onetool("skills", "save", run["run"], "add_two")
    skill_file(person, "add_two.calls.json").unlink()

    without = person.onetool("skills", "test")
    recorded = person.onetool("skills", "test", "--record")
    again = person.onetool("skills", "test")

    assert without.returncode == 1
    assert "nothing is recorded" in without.stdout
    assert recorded.stdout == "add_two: recorded 2 calls\n"
    assert again.stdout == "add_two: 2 calls, as recorded\n"
    assert person.lines == ["a", "b", "a", "b"]
    assert person.onetool("trust", "--yes").stdout.count("add_two") == 0  # what was recorded is trusted


def test_a_resumed_run_is_saved_without_its_first_line_and_a_failed_one_not_at_all(person: Person) -> None:
    person.onetool("run", "own.add(line='a')\n1/0")
    [failed] = person.runs()
    person.onetool("run", f"ot.resume(run={failed['run']!r})\nown.add(line='a')")

    refused = person.onetool("skills", "save", failed["run"], "broken")
    saved = person.onetool("skills", "save", person.runs()[-1]["run"], "mended")

    assert (refused.returncode, "did not succeed" in refused.stderr) == (1, True)
    assert saved.returncode == 0, saved.stderr
    assert "resume" not in skill_file(person, "mended.py").read_text()
    recording = json.loads(skill_file(person, "mended.calls.json").read_text())
    assert [call["tool"] for call in recording["calls"]] == ["own.add"]
    assert person.onetool("skills", "save", person.runs()[-1]["run"], "mended").returncode == 1  # it is there already
