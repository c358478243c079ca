"""`onetool check` as a person uses it: everything is started once, and each thing says how it went."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw_server import environment_of
from tests.engine import write_extension
from tests.models.terminal import in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.proxied import program

BROKEN = {"command": sys.executable, "args": ["-S", "-c", "import no_such_library"]}


def configure(home: Path, servers: dict[str, Any]) -> None:
    (home / ".onetool").mkdir(parents=True, exist_ok=True)
    (home / ".onetool" / "onetool.yaml").write_text(json.dumps({"servers": servers}))


def onetool(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=home, env=environment_of(home))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with servers and extensions of which one each does not start."""
    home = tmp_path_factory.mktemp("home")
    configure(home, {"plain": program("plain_server"), "broken": BROKEN, "off": {"command": "x", "enabled": False}})
    write_extension(home, "fine", 'def hello() -> str:\n    """Say hello."""\n    return "hello"\n')
    write_extension(home, "torn", "import no_such_module\n\ndef hello() -> str:\n    return ''\n")
    return home


def test_everything_is_started_and_what_failed_has_the_last_word(home: Path) -> None:
    checked = onetool(home, "check")
    listed = onetool(home, "tools", "plain")
    [incident] = re.findall(r"incident (\w+); `onetool logs", checked.stdout)
    logged = onetool(home, "logs", incident)

    assert (checked.returncode, checked.stderr) == (1, ""), checked.stderr
    lines = checked.stdout.splitlines()
    assert re.fullmatch(r"servers.plain: +1 tool, +\d+ tokens, +[\d.]+ m?s", lines[0])
    assert re.fullmatch(
        r"servers.broken: +failed after [\d.]+ m?s: it exited with status 1 before it was ready\.", lines[1]
    )
    assert "    ModuleNotFoundError: No module named 'no_such_library'" in lines
    assert any(re.fullmatch(r"extension fine: +1 tool, +\d+ tokens, +[\d.]+ m?s", line) for line in lines)
    assert any(line.startswith("extension torn:") and "No module named 'no_such_module'" in line for line in lines)
    assert lines[-1].startswith("2 of 4 could not be started: ")
    assert "off" not in {word for line in lines for word in re.findall(r"servers\.(\w+)", line)}
    assert "plain.echo(" in listed.stdout
    assert "Traceback" in logged.stdout


def test_a_program_reads_the_same(home: Path) -> None:
    checked = onetool(home, "check", "--json")

    assert checked.returncode == 1
    told = json.loads(checked.stdout)
    assert (told["ok"], told["problems"]) == (False, [])
    started = {(each["kind"], each["name"]): each for each in told["started"]}
    assert started["server", "plain"]["tools"] == 1
    assert started["server", "plain"]["tokens"] > 0
    assert "no_such_library" in started["server", "broken"]["last_words"][-1]
    assert "no_such_module" in started["extension", "torn"]["failure"]
    assert started["extension", "fine"]["failure"] == ""


def test_a_program_reads_of_a_mistake_that_stops_everything_too(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("policy: {dney: []}\nservers: {typo: {comand: x}}\n")

    checked = onetool(tmp_path, "check", "--json", "--config", "wrong.yaml")

    assert (checked.returncode, checked.stderr) == (2, "")
    told = json.loads(checked.stdout)
    assert not told["ok"]
    assert [part in " ".join(told["problems"]) for part in ("policy.dney", "servers.typo")] == [True, True]


def test_offline_nothing_is_started(tmp_path: Path) -> None:
    configure(tmp_path, {"changing": program("changing", tmp_path / "counter")})

    checked = onetool(tmp_path, "check", "--offline")

    assert checked.returncode == 0, checked.stdout
    assert not (tmp_path / "counter").exists()


def test_a_mistake_is_told_first_and_the_others_are_started_all_the_same(tmp_path: Path) -> None:
    configure(
        tmp_path, {"typo": {"comand": "x"}, "gone": {"command": "no-such-program"}, "plain": program("plain_server")}
    )

    checked = onetool(tmp_path, "check")

    assert checked.returncode == 2
    typo, gone, plain = checked.stdout.splitlines()
    assert "servers.typo.comand: unknown key" in typo
    assert gone == "servers.gone: its command 'no-such-program' was not found"
    assert plain.startswith("servers.plain:")


def test_a_person_sees_what_is_under_way_and_the_rest_as_it_comes(tmp_path: Path) -> None:
    awaited = tmp_path / "awaited"
    configure(tmp_path, {"late": program("quiet_until", awaited), "plain": program("plain_server")})

    with in_terminal(preloaded_command("onetool", "check"), cwd=tmp_path, env=environment_of(tmp_path)) as terminal:
        seen = terminal.wait_for(
            lambda text: "servers.plain:" in text and text.splitlines()[-1].endswith("servers.late")
        )
        awaited.touch()
        status = terminal.wait_for_exit()

    assert status == 0
    assert re.search(r"^starting for \d+ s: servers\.late$", seen, re.MULTILINE)
    shown = terminal.screen.text
    assert shown.index("servers.plain:") < shown.index("servers.late:")
    assert "starting for" not in shown


@pytest.mark.parametrize(("rule", "read"), [("yes", "true"), ("7", "7")])
def test_a_command_that_yaml_did_not_read_as_text_is_a_mistake(tmp_path: Path, rule: str, read: str) -> None:
    configure(tmp_path, {})
    text = f"packs: {{shell: {{enabled: true, allow: [make, {rule}]}}}}\n"
    (tmp_path / ".onetool" / "onetool.yaml").write_text(text)

    checked = onetool(tmp_path, "check", "--offline")

    assert checked.returncode == 2
    assert f"packs.shell.allow: entry 2 is read as {read}: write a command in quotes" in checked.stdout
