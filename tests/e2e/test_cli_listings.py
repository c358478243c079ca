"""What the commands list: for a person, and as JSON for a program."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from onetool.cli import COMMANDS
from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, environment_of
from tests.preloaded import preloaded_command, run_preloaded

Finished = subprocess.CompletedProcess[str]

LISTINGS = {
    "tools": ("tools", "demo.upper"),
    "packs": ("packs", "demo"),
    "help": ("help", "demo.upper"),
    "results": ("results",),
    "servers": ("servers",),
    "workers": ("workers",),
    "reload": ("reload",),
    "logs": ("logs",),
    "doctor": ("doctor", "--offline"),
    "check": ("check", "--offline"),
    "skills": ("skills",),
    "stats": ("stats",),
    "runs": ("runs",),
    "undo": ("undo", "--list"),
    "audit": ("audit",),
    "policy": ("policy", "try"),
    "keys": ("keys",),
    "trust": ("trust", "--list"),
    "lock": ("lock",),
    "fetch": ("fetch",),
    "connect": ("connect",),
    "chat": ("chat", "--list"),
    "secrets": ("secrets",),
    "top": ("top", "--once"),
}
NO_LISTINGS = {
    "serve",
    "run",
    "call",
    "replay",
    "init",
    "import",
    "login",
    "accept",
    "approve",
    "add",
    "remove",
    "update",
    "upgrade",
    "new",
    "sdk-path",
    "seal",
    "store",
    "listen",
    "demo",
    "dashboard",
    "stubs",
    "repl",
    "completion",
}

LIST_ALL = """\
import contextlib, io, json, sys
from onetool.cli import main
printed = {}
for command, words in json.loads(sys.argv[1]).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main([*words, "--json"])
    printed[command] = status, out.getvalue()
print(json.dumps(printed))
sys.exit()
"""


class Person:
    """Somebody with the pack `demo`, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = give_demo(folder / "home")

    def onetool(self, *arguments: str, **variables: str) -> Finished:
        return run_preloaded(*arguments, cwd=self.folder, env=environment_of(self.home) | variables)

    def json_of(self, *arguments: str) -> Any:
        finished = self.onetool(*arguments, "--json")
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout)


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """One person for tests that only look; a run of theirs left a stored result and a kept value."""
    found = Person(tmp_path_factory.mktemp("person"))
    ran = found.onetool("run", 'ot.keep(name="numbers", value=list(range(50)))')
    assert ran.returncode == 0, ran.stderr
    return found


def test_every_command_is_known_to_list_something_or_not() -> None:
    assert {*COMMANDS} - {*LISTINGS} - NO_LISTINGS == set()


def test_every_listing_is_json_where_that_is_wanted(person: Person, tmp_path: Path) -> None:
    """All in one process, since loading the commands is most of the time that each takes."""
    program = tmp_path / "list_all.py"
    program.write_text(LIST_ALL)

    finished = run_preloaded(
        json.dumps(LISTINGS), cwd=person.folder, env=environment_of(person.home), program=str(program)
    )

    assert finished.returncode == 0
    printed = json.loads(finished.stdout)
    assert {*printed} == {*LISTINGS}
    assert {command: status for command, (status, _) in printed.items() if status} == {}
    for _, text in printed.values():
        assert isinstance(json.loads(text), (list, dict))


def test_a_stored_result_is_listed_with_its_name_and_shown_by_its_handle(person: Person) -> None:
    [stored] = person.json_of("results")
    listed = person.onetool("results").stdout.splitlines()
    page = person.json_of("results", stored["handle"], "--offset", "2", "--limit", "3")
    shown = person.onetool("results", stored["handle"], "--search", "4[12]")
    wrong = person.onetool("results", "abcdefghjk")

    assert (stored["name"], stored["type"], stored["lines"]) == ("numbers", "list", 50)
    assert listed[0].split()[:2] == ["handle", "kept"]
    assert listed[1].split()[:3] == [stored["handle"], "numbers", "list"]
    assert (page["lines"], page["has_more"]) == (["- 1", "- 2", "- 3"], True)
    assert shown.stdout == "- 41\n- 42\n"
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "abcdefghjk" in wrong.stderr


def test_only_the_latest_results_are_listed_and_that_there_are_more(tmp_path: Path) -> None:
    somebody = Person(tmp_path)
    somebody.onetool("run", "ot.keep(name='first', value=[1])")
    somebody.onetool("run", "ot.keep(name='second', value=[2])")

    listed = somebody.onetool("results", "--json", "--limit", "1")

    assert [each["name"] for each in json.loads(listed.stdout)] == ["second"]
    assert listed.stderr == "onetool: only the latest 1 result; --limit N shows more\n"


def test_help_finds_tools_by_a_need_and_explains_commands(person: Person) -> None:
    assert "demo.upper" in person.onetool("help", "text", "in", "upper", "case").stdout
    assert person.onetool("help", "demo.upper").stdout.startswith("demo.upper\n")
    assert person.onetool("help", "serve").stdout.startswith("usage: onetool serve ")
    assert "  packs " in person.onetool("help").stdout


def test_a_server_that_nobody_has_seen_is_named_below_a_listing(tmp_path: Path) -> None:
    someone = Person(tmp_path)
    with (someone.home / ".onetool" / "onetool.yaml").open("a") as config:
        config.write("\nservers: {paper: {command: no-such-program}}\n")

    for command in (("packs", "demo"), ("help", "demo.upper")):
        finished = someone.onetool(*command)

        assert finished.returncode == 0
        assert "demo" in finished.stdout
        assert "paper" in finished.stderr
        assert "onetool check" in finished.stderr


def test_a_terminal_gets_colour_unless_somebody_wants_none(person: Person) -> None:
    def shown(**variables: str) -> str:
        controller, terminal = os.openpty()
        env = environment_of(person.home) | {"TERM": "xterm"} | variables
        command = preloaded_command("onetool", "packs", "demo")
        subprocess.run(command, cwd=person.folder, env=env, stdout=terminal, timeout=WAIT, check=True)
        os.close(terminal)
        text = os.read(controller, 65536).decode()
        os.close(controller)
        return text

    assert shown().startswith("\x1b[1mdemo\x1b[0m  ")
    assert shown(NO_COLOR="1").startswith("demo  ")
