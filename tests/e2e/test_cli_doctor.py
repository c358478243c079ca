"""`onetool doctor` as a person reads it: a light for each thing, and a command for each that is not green."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from onetool.doctor.report import hide_person
from tests.e2e.raw_server import environment_of, start_raw_server
from tests.engine import write_extension
from tests.preloaded import run_preloaded

SERVER = Path(__file__).parent.parent / "programs" / "servers" / "plain_server.py"
AREAS = [
    "python",
    "uv",
    "confinement",
    "configuration",
    "trust",
    "secrets",
    "servers",
    "packs",
    "clients",
    "caches",
    "disk",
]


def onetool(home: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=cwd or home, env=environment_of(home))


def findings_of(home: Path, *arguments: str, cwd: Path | None = None) -> list[dict[str, Any]]:
    told = json.loads(onetool(home, "doctor", "--json", *arguments, cwd=cwd).stdout)
    found: list[dict[str, Any]] = told["findings"]
    assert told["ok"] == all(each["light"] != "red" for each in found)
    return found


def texts(found: list[dict[str, Any]], light: str, area: str) -> str:
    return "\n".join(
        f"{each['text']} -> {each['fix']}" for each in found if (each["light"], each["area"]) == (light, area)
    )


def test_a_home_in_good_order_has_no_red(tmp_path: Path) -> None:
    write_extension(tmp_path, "own", "def add(a: int) -> int:\n    'Add.'\n    return a + 1\n")
    config = tmp_path / ".onetool" / "onetool.yaml"
    config.write_text(f"servers: {{plain: {{command: {sys.executable}, args: ['{SERVER}']}}}}\n")
    (tmp_path / ".cursor").mkdir()
    entry = {"command": sys.executable, "args": ["-m", "onetool", "serve"]}
    (tmp_path / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"onetool": entry}}))

    finished = onetool(tmp_path, "doctor")
    lines = finished.stdout.splitlines()

    assert finished.returncode == 0, finished.stdout
    assert [line for line in lines if line in AREAS] == AREAS
    assert any(line.startswith("  ok   plain: ") and " tool" in line for line in lines)
    assert any(line.startswith("  ok   own: 1 tool after ") for line in lines)
    assert any("Cursor starts OneTool: " in line for line in lines)
    assert any(line.endswith("landlock confines runs") or line.startswith("  note landlock") for line in lines)
    assert lines[-1].endswith(" 0 red")
    assert "\x1b" not in finished.stdout


def test_everything_that_is_wrong_is_told_with_a_command(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".onetool").mkdir(parents=True)
    (project / ".onetool" / "onetool.yaml").write_text("aliases: {a: ot.version}\n")
    write_extension(tmp_path, "own", "import no_such_module\ndef add(a: int) -> int:\n    'Add.'\n    return a + 1\n")
    (tmp_path / ".onetool" / "onetool.yaml").write_text(
        "servers: {paper: {comand: x}, gone: {command: no-such-program}, dies: {command: 'false', args: ['${KEY}']}}\n"
        "packs: {brave: {}}\n"
    )
    secrets = tmp_path / ".onetool" / "secrets.yaml"
    secrets.touch(mode=0o600)
    secrets.write_text("KEY: hunter2hunter2\n")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"onetool": {"command": "/gone/onetool"}}}')

    found = findings_of(tmp_path, cwd=project)

    assert [each for each in found if each["light"] != "green" and not each["fix"]] == []
    assert "comand" in texts(found, "red", "configuration")
    assert "servers.gone: its command 'no-such-program' was not found" in texts(found, "red", "configuration")
    assert "dies: " in texts(found, "red", "servers")
    assert " -> false " in texts(found, "red", "servers")
    assert "hunter2" not in json.dumps(found)
    assert "no_such_module" in texts(found, "red", "extensions")
    assert "onetool.yaml is not trusted" in texts(found, "yellow", "trust")
    assert texts(found, "yellow", "trust").endswith(f" -> onetool trust {project}")
    assert "BRAVE_API_KEY" in texts(found, "yellow", "secrets")
    assert texts(found, "red", "clients").endswith(" -> onetool connect cursor")


def test_a_mistake_in_a_guard_is_told_with_the_rest(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "onetool.yaml").write_text("polcy: {deny: [mail.*]}\n")

    with start_raw_server(tmp_path) as running:  # which has a configuration of its own
        assert running.run("1 + 1")["content"][0]["text"] == "2"
        finished = onetool(tmp_path, "doctor", "--offline")

    assert finished.returncode == 1
    assert "polcy" in finished.stdout
    assert "(stdio, since " in finished.stdout
    assert "disk" in finished.stdout.splitlines()


def test_names_that_strangers_chose_do_nothing_in_a_command(tmp_path: Path) -> None:
    project = tmp_path / "a; touch made #"
    (project / ".onetool").mkdir(parents=True)
    (project / ".onetool" / "onetool.yaml").symlink_to("/etc/hostname")
    write_extension(tmp_path, "own", "secrets = (\"K'$(touch made)\",)\ndef add() -> int:\n    'Add.'\n    return 1\n")
    (tmp_path / ".onetool" / "onetool.yaml").write_text("packs: {own: {}}\n")

    found = findings_of(tmp_path, "--offline", cwd=project)
    commands = [each["fix"] for each in found if each["area"] in ("trust", "secrets") and each["fix"]]
    done = [subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True) for command in commands]

    assert len(done) == 2
    assert not list(tmp_path.glob("made*"))
    assert (tmp_path / ".onetool" / "secrets.yaml").read_text() == "K'$(touch made): VALUE\n"


def test_a_report_for_an_issue_names_the_system_and_nobody(tmp_path: Path) -> None:
    config = tmp_path / ".onetool" / "onetool.yaml"
    config.parent.mkdir()
    config.write_text("servers: {private-server: {command: private-command}}\n")

    finished = onetool(tmp_path, "doctor", "--report")
    first, system, libraries, means, *found = finished.stdout.splitlines()

    assert first.startswith("OneTool ")
    assert platform.machine() in system
    assert platform.node() not in finished.stdout
    assert " pydantic " in libraries
    assert means.startswith("settings: engine auto, sandbox standard; programs are confined by Landlock")
    assert any("confines runs" in line for line in found)
    assert any("servers and extensions can" in line for line in found)
    assert "private-" not in finished.stdout
    assert str(tmp_path) not in finished.stdout
    assert hide_person("/Users/ada/x and /tmp/of-ada; adamant", "/Users/ada", "ada") == "~/x and /tmp/of-USER; adamant"
