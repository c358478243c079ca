"""A home that a released version has kept loses nothing to this one."""

from __future__ import annotations

import json
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_core.json_types import JsonObject
from ot.store.credentials import FileCredentials
from tests.apart import run_apart
from tests.homes import HOMES, PLACE, PROJECT, onetool, opened_place

pytestmark = pytest.mark.xdist_group("homes")


@dataclass(frozen=True)
class Home:
    """A home as it was kept; a minute has passed since."""

    facts: JsonObject

    def type(self, *words: str) -> subprocess.CompletedProcess[str]:
        kept = self.facts["time"]
        assert isinstance(kept, float)
        done = onetool(*words, shift=kept + 60 - time.time())
        assert "WARNING" not in done.stderr + done.stdout, done.stderr
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def run(self, code: str) -> str:
        return self.type("run", code).stdout

    def run_of(self, words: str) -> str:
        runs = self.facts["runs"]
        assert isinstance(runs, dict)
        return next(str(run) for command, run in runs.items() if words in command)


@pytest.fixture(
    scope="module", params=sorted(HOMES.glob("*.tar.xz")), ids=lambda kept: kept.name.removesuffix(".tar.xz")
)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    with opened_place():
        with tarfile.open(request.param) as archive:
            archive.extractall(PLACE, filter="fully_trusted")
        yield Home(json.loads((PLACE / "facts.json").read_bytes()))


def kept_values(home: Home) -> None:
    assert home.run("ot.kept(name='rows')") == "[1, 2, 3]\n"


def results(home: Home) -> None:
    assert home.type("results", str(home.facts["long"])).stdout.startswith("long long long")


def notes(home: Home) -> None:
    assert home.run("notes.read(title='plans')['content']['year']") == "2027\n"


def skills_and_trust(home: Home) -> None:
    assert home.run("skills.double(n=21)") == "42\n"
    assert home.type("trust", "--list").stdout == f"{PROJECT}: 2 files\n"


def secrets(home: Home) -> None:
    assert home.type("secrets", "test").stdout == "BRAVE_API_KEY: can be read (secrets.yaml)\n"


def logins(home: Home) -> None:
    found = run_apart(lambda: FileCredentials(PLACE / ".onetool/state/servers/tokens").read("github"))
    assert found is not None
    assert found["tokens"] == {"access_token": "access"}


def statistics(home: Home) -> None:
    counted = json.loads(home.type("stats", "--json").stdout)
    assert {each["tool"] for each in counted["tools"]} >= {"notes.write", "file.write", "parrot.echo"}


def audit(home: Home) -> None:
    assert home.type("audit", "--verify").stdout.startswith("OK: every line is as it was written")


def a_run_to_resume(home: Home) -> None:
    failed = home.run_of("before the mistake")
    again = 'notes.write(title="before the mistake", content="once")'

    assert "title: before the mistake" in home.run(f"ot.resume(run='{failed}')\n{again}")  # a second one is refused


def copies_to_undo(home: Home) -> None:
    assert home.run_of("file.write") in home.type("undo", "--list").stdout
    assert list((PLACE / ".onetool/state/undo").glob(f"{home.run_of('file.write')}*"))


def pins(home: Home) -> None:
    server = PLACE / "parrot.py"
    server.write_text(server.read_text().replace("The tool", "Another tool"))
    home.run("parrot.echo(text='hello')")

    [shown] = json.loads(home.type("servers", "--json").stdout)
    assert shown["servers"][0]["changes"]["tools"]["changed"] == ["echo"]


KINDS = (
    kept_values, results, notes, skills_and_trust, secrets, logins, statistics, audit, a_run_to_resume, copies_to_undo,
    pins,
)  # fmt: skip


@pytest.mark.parametrize("look", KINDS, ids=lambda look: look.__name__)
def test_nothing_of_a_home_is_lost(home: Home, look: Callable[[Home], None]) -> None:
    look(home)


def test_what_a_newer_version_has_left_there_is_refused_with_a_sentence(home: Home) -> None:
    state = PLACE / ".onetool/state"
    [record], [kept] = state.glob("trust/*/record.json"), state.glob("kept/*/rows.json")
    before = {}
    for file in (record, kept):
        before[file] = json.dumps({**json.loads(file.read_bytes()), "form": 99})
        file.write_text(before[file])

    refused = [onetool("trust", "--yes"), onetool("run", "ot.keep(name='rows', value=4)")]

    for done in refused:
        assert done.returncode != 0
        assert "a newer OneTool wrote it (form 99, this one knows 1); it is left as it is" in done.stdout + done.stderr
    assert {file: file.read_text() for file in before} == before


def test_there_is_a_home_of_every_released_version() -> None:
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    released = [
        line.split()[1] for line in changelog.splitlines() if line.startswith("## ") and line != "## Unreleased"
    ]

    wanted = {f"{version}.{kind}.xz" for version in released for kind in ("tar", "sql")}
    assert wanted - {kept.name for kept in HOMES.glob("*.xz")} == set()
