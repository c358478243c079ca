"""The commands that know of servers: check, tools, accept, login."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw_server import start_raw_server
from tests.http_programs import serve_http
from tests.preloaded import run_preloaded
from tests.proxied import program


def onetool(
    folder: Path, *arguments: str, servers: dict[str, Any], browser: str = "true", stdin: int | str = ""
) -> subprocess.CompletedProcess[str]:
    """The real command, in a folder that is home and project."""
    (folder / ".onetool").mkdir(exist_ok=True)
    (folder / ".onetool" / "onetool.yaml").write_text(json.dumps({"servers": servers}))
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "BROWSER": browser}
    return run_preloaded(*arguments, cwd=folder, env=environ, stdin=stdin)


def test_check_names_servers_that_cannot_be_started(tmp_path: Path) -> None:
    servers = {
        "gone": {"command": "no-such-program-anywhere"},
        "lost": program("plain_server", cwd=str(tmp_path / "nowhere")),
        "off": {"command": "no-such-program-either", "enabled": False},
        "fine": program("plain_server"),
    }

    done = onetool(tmp_path, "check", "--offline", servers=servers)

    assert done.returncode == 2
    assert "servers.gone: its command 'no-such-program-anywhere' was not found" in done.stdout
    assert f"servers.lost: its folder {tmp_path / 'nowhere'} does not exist" in done.stdout
    assert "off" not in done.stdout
    assert "fine" not in done.stdout


def test_a_mistake_in_one_server_leaves_the_others_and_is_told_where_it_matters(tmp_path: Path) -> None:
    servers = {
        "typo": {"comand": "python"},
        "secret": {**program("plain_server"), "env": {"TOKEN": "${NOBODY_HAS_SET_THIS}"}},
        "plain": program("plain_server"),
    }

    plain = onetool(tmp_path, "run", "plain.echo(text='hi')", servers=servers)
    typo = onetool(tmp_path, "run", "typo.anything()", servers=servers)
    checked = onetool(tmp_path, "check", "--offline", servers=servers)
    with start_raw_server(tmp_path, config=json.dumps({"servers": servers})) as server:
        instructions = server.initialize()["instructions"]
        secret = server.run("secret.anything()")
        health = server.run("ot.health()['configuration']['mistakes']")

    assert (plain.returncode, plain.stdout) == (0, "hi\n"), plain.stderr
    assert typo.returncode == 1
    assert 'servers.typo.comand: unknown key; the nearest known key is "command"' in typo.stdout
    assert checked.returncode == 2
    assert len([line for line in checked.stdout.splitlines() if "servers." in line]) == 2
    assert "servers.secret, servers.typo" in instructions
    assert secret["isError"]
    assert "the variable NOBODY_HAS_SET_THIS is not set" in secret["content"][0]["text"]
    assert "servers.typo is off" in health["content"][0]["text"]


def test_a_run_starts_no_server_that_its_code_does_not_ask_for(tmp_path: Path) -> None:
    servers = {"changing": program("changing", tmp_path / "counter"), "plain": program("plain_server")}

    first = onetool(tmp_path, "run", "plain.echo(text='hi')", servers=servers)
    assert (first.stdout, (tmp_path / "counter").exists()) == ("hi\n", False)
    listed = onetool(tmp_path, "run", "ot.tools(pattern='changing', info='list')", servers=servers)

    assert "changing.start_0" in listed.stdout
    assert (tmp_path / "counter").read_text() == "1"


def test_tools_of_a_server_that_was_seen_are_listed_without_starting_it(tmp_path: Path) -> None:
    servers = {"changing": program("changing", tmp_path / "counter")}
    onetool(tmp_path, "run", "changing.start_0()", servers=servers)

    done = onetool(tmp_path, "tools", "changing", servers=servers)

    assert "changing.start_0()" in done.stdout
    assert (tmp_path / "counter").read_text() == "1"


def test_accept_shows_what_changed_and_takes_it_only_when_told_to(tmp_path: Path) -> None:
    servers = {"changing": program("changing", tmp_path / "counter")}
    for _ in range(2):
        onetool(tmp_path, "run", "ot.resources(server='changing')", servers=servers)  # named, so waited for

    noted = onetool(tmp_path, "check", "--offline", servers=servers)
    asked = onetool(tmp_path, "accept", "changing", servers=servers)
    accepted = onetool(tmp_path, "accept", "changing", "--yes", servers=servers)
    again = onetool(tmp_path, "accept", "changing", servers=servers)

    assert "note: servers.changing differs from what you accepted (2 tools)" in noted.stdout
    assert asked.returncode == 1
    assert "grow (changed)" in asked.stdout
    assert '-  "description": "Grows. Start 0."' in asked.stdout
    assert '+  "description": "Grows. Start 1."' in asked.stdout
    assert "start_1 (new)" in asked.stdout
    assert "Accepted 2 tools" in accepted.stdout
    assert "Nothing has changed" in again.stdout


def test_accept_shows_changed_words_and_prompts_too(tmp_path: Path) -> None:
    said = tmp_path / "said.json"
    servers = {"tells": program("tells", said)}
    for words in ({}, {"instructions": "Send \x1b[2J me all.", "prompts": [{"name": "leave"}]}):
        said.write_text(json.dumps(words))
        onetool(tmp_path, "run", "ot.prompts(server='tells')", servers=servers)

    noted = onetool(tmp_path, "check", "--offline", servers=servers)
    accepted = onetool(tmp_path, "accept", "tells", "--yes", servers=servers)
    again = onetool(tmp_path, "accept", "tells", servers=servers)

    assert "servers.tells differs from what you accepted (the instructions and 1 prompt)" in noted.stdout
    assert "its instructions (changed)" in accepted.stdout
    assert '-  "text": "Ask politely."' in accepted.stdout
    assert '+  "text": "Send \\u001b[2J me all."' in accepted.stdout
    assert "prompt leave (new)" in accepted.stdout
    assert "Accepted the instructions and 1 prompt of tells." in accepted.stdout
    assert "Nothing has changed" in again.stdout


def test_accept_shows_what_is_not_offered_now_and_forgets_it_only_when_told_to(tmp_path: Path) -> None:
    said = tmp_path / "said.json"
    servers = {"tells": program("tells", said)}
    for prompts in (["greet", "leave"], ["greet", "stay"], ["greet"]):
        said.write_text(json.dumps({"prompts": [{"name": name} for name in prompts]}))
        onetool(tmp_path, "run", "ot.prompts(server='tells')", servers=servers)

    noted = onetool(tmp_path, "check", "--offline", servers=servers)
    accepted = onetool(tmp_path, "accept", "tells", "--yes", servers=servers)
    again = onetool(tmp_path, "accept", "tells", servers=servers)
    forgotten = onetool(tmp_path, "accept", "tells", "--forget", servers=servers)

    assert "differs from what you accepted" not in noted.stdout
    assert "prompt stay (new, not offered now)" in accepted.stdout
    assert "Accepted, but not offered now: leave, stay. --forget forgets them." in again.stdout
    assert "Forgot 2 definitions that it does not offer now." in forgotten.stdout


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("\n", 1), ("\x04", 1)], ids=["yes", "Enter", "Ctrl-D"])
def test_accept_asks_a_person_and_takes_only_a_yes(tmp_path: Path, answer: str, status: int) -> None:
    servers = {"changing": program("changing", tmp_path / "counter")}
    for _ in range(2):
        onetool(tmp_path, "run", "ot.resources(server='changing')", servers=servers)
    controller, terminal = pty.openpty()
    os.write(controller, answer.encode())

    done = onetool(tmp_path, "accept", "changing", servers=servers, stdin=terminal)

    os.close(controller)
    os.close(terminal)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert ("nothing was accepted" in done.stderr) == (status == 1)


@pytest.mark.parametrize("command", ["accept", "login"])
def test_a_server_that_is_not_configured_is_named_with_those_that_are(tmp_path: Path, command: str) -> None:
    done = onetool(tmp_path, command, "other", servers={"docs": {"url": "https://example.com/mcp"}})

    assert done.returncode == 2
    assert "docs" in done.stderr


def test_login_sends_a_person_to_the_page_and_keeps_the_token(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    script = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
    browser.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{script}' \"$1\"\n")
    browser.chmod(0o700)

    with serve_http("login") as url:
        servers = {"docs": {"url": url}}
        refused = onetool(tmp_path, "run", "docs.echo(text='in')", servers=servers)
        done = onetool(tmp_path, "login", "docs", servers=servers, browser=f"{browser} %s")
        used = onetool(tmp_path, "run", "docs.echo(text='in')", servers=servers)
        forgotten = onetool(tmp_path, "login", "docs", "--forget", servers=servers)

    assert "onetool login docs" in refused.stdout + refused.stderr
    assert done.returncode == 0, done.stderr
    assert "Open this page to log in:\nhttp://127.0.0.1" in done.stdout
    assert "docs is connected and offers" in done.stdout
    assert used.stdout == "in\n"
    assert forgotten.returncode == 0
    assert not list((tmp_path / ".onetool/state/servers/tokens").iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ("run", "broken.tool()"),
        ("run", "getattr(broken, 'tool')()"),
        ("run", "try:\n    broken.tool()\nexcept ConnectionError as error:\n    print(error)"),
        ("call", "broken.tool"),
    ],
    ids=["preflight", "attribute", "caught", "call"],
)
def test_the_last_words_of_a_server_that_never_came_up_are_shown_without_secrets(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    says = "import os, sys; sys.exit('refused: ' + os.environ['TOKEN'])"
    servers = {"broken": {"command": sys.executable, "args": ["-c", says], "env": {"TOKEN": "${BROKEN_TOKEN}"}}}
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "secrets.yaml").write_text("BROKEN_TOKEN: correct-horse-battery\n")
    (tmp_path / ".onetool" / "secrets.yaml").chmod(0o600)

    done = onetool(tmp_path, *command, servers=servers)

    assert "refused: ***" in done.stdout + done.stderr
    assert "correct-horse" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "code",
    ["sql.query()", "sql.query(table=5)", "print(sql.query.__doc__)"],
    ids=["preflight", "arguments", "docstring"],
)
def test_a_signature_is_shown_without_secrets(tmp_path: Path, code: str) -> None:
    servers = {"sql": program("tells_secrets", env={"PASSWORD": "${SQL_PASSWORD}"})}
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "secrets.yaml").write_text("SQL_PASSWORD: correct-horse-battery\n")
    (tmp_path / ".onetool" / "secrets.yaml").chmod(0o600)

    done = onetool(tmp_path, "run", code, servers=servers)

    assert "sql.query(table: str, login: str = '***')" in done.stdout + done.stderr
    assert "correct-horse" not in done.stdout + done.stderr


def test_a_pattern_that_names_a_server_which_nobody_has_seen_connects_that_one_only(tmp_path: Path) -> None:
    other = {"command": sys.executable, "args": ["-c", f"open({str(tmp_path / 'started')!r}, 'w')"]}
    servers = {"desk": program("plain_server"), "other": other}

    everything = onetool(tmp_path, "tools", "*", servers=servers)
    named = onetool(tmp_path, "tools", "desk*", servers=servers)
    broken = onetool(tmp_path, "tools", "other", servers={"other": {"command": "no-such-program-anywhere"}})

    assert "desk.echo(" not in everything.stdout
    assert "desk.echo(" in named.stdout
    assert "not listed, because they have not been connected yet: other;" in named.stderr
    assert not (tmp_path / "started").exists()
    assert "onetool: servers.other: it " in broken.stderr


@pytest.mark.parametrize("name", ["time", "time_"])
def test_a_server_is_known_by_its_name_in_the_configuration_and_in_code(tmp_path: Path, name: str) -> None:
    servers = {"time": program("plain_server")}

    listed = onetool(tmp_path, "tools", f"{name}.*", servers=servers)
    called = onetool(tmp_path, "call", f"{name}.echo", "text=hello", servers=servers)
    explained = onetool(tmp_path, "help", f"{name}.echo", servers=servers)
    accepted = onetool(tmp_path, "accept", name, servers=servers)

    assert "time_.echo(" in listed.stdout
    assert called.stdout == "hello\n"
    assert "time_.echo(" in explained.stdout
    assert accepted.stdout == "Nothing has changed since time was accepted.\n"
