"""A running server as its person's other commands reach it: reloaded, asked for its servers and workers, its log."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onetool.control.asking import ask_running
from tests.demo_pack import with_demo
from tests.e2e.raw_server import WAIT, RawServer, environment_of, start_raw_server
from tests.engine import write_extension
from tests.preloaded import run_preloaded

NOBODY = 65534
CONFIG = "servers: {paper: {command: no-such-program}, later: {command: cat, enabled: false}}\n"


def onetool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_preloaded(*arguments, cwd=folder, env=environment_of(folder))


def json_of(folder: Path, *arguments: str) -> Any:
    return json.loads(onetool(folder, *arguments, "--json").stdout)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, RawServer]]:
    """One server with an extension; its home has a path that is too long for the address of a socket."""
    folder = tmp_path_factory.mktemp("home") / ("long" * 25)
    folder.mkdir()
    write_extension(folder, "own", "def add(a: int) -> int:\n    'Add.'\n    return a + 1\n")
    with start_raw_server(folder, config=CONFIG) as running:
        assert "2" in running.run("own.add(a=1)")["content"][0]["text"]
        running.run("ot.health()")  # which tries the server
        yield folder, running


def test_servers_and_workers_of_a_running_server_are_told(server: tuple[Path, RawServer]) -> None:
    folder, _ = server
    [told] = json_of(folder, "servers")
    [working] = json_of(folder, "workers")
    shown = onetool(folder, "servers").stdout

    assert {each["name"]: each["state"] for each in told["servers"]} == {"later": "disabled", "paper": "disconnected"}
    assert told["project"] == str(folder)
    assert [(each["pack"], each["state"]) for each in working["workers"]] == [("own", "idle")]
    assert shown.startswith(f"server {told['pid']} of {folder} (stdio, since ")
    assert re.search(r"^  paper  disconnected .*not found: no-such-program", shown, re.MULTILINE)


@pytest.mark.skipif(os.geteuid() != 0, reason="MISSING: only root can act as another user")
def test_a_running_server_answers_no_other_user(
    server: tuple[Path, RawServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = server
    [path] = (folder / ".onetool" / "state" / "running").iterdir()
    path.parent.chmod(0o711)  # as if they had a way in
    path.chmod(0o666)
    monkeypatch.chdir(path.parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(WAIT)
        os.seteuid(NOBODY)
        try:
            connection.connect(path.name)
            connection.sendall(b"reload")
            answer = connection.recv(1)
        except ConnectionError:
            answer = b""
        finally:
            os.seteuid(0)

    assert answer == b""
    assert len(json_of(folder, "servers")) == 1


def test_a_reload_reaches_a_running_server_and_says_what_came_of_it(server: tuple[Path, RawServer]) -> None:
    folder, running = server
    file = folder / "onetool.yaml"

    file.write_text(with_demo(f"{CONFIG}aliases: {{up: demo.upper}}\nlog: {{level: debug}}\n"))
    reloaded = onetool(folder, "reload")
    answer = running.run("up(text='a')")
    file.write_text(with_demo("policy: {deny: 7}\n"))
    refused = onetool(folder, "reload")
    told = json_of(folder, "reload")

    assert reloaded.returncode == 0, reloaded.stdout + reloaded.stderr
    assert "OK: Configuration reloaded" in reloaded.stdout
    assert "next start of the server: log.level" in reloaded.stdout
    assert answer["content"][0]["text"] == "A"
    assert refused.returncode == 1
    assert "The configuration was not reloaded: " in refused.stdout
    assert [(each["reloaded"], each["error"]) for each in told] == [(False, "")]
    assert running.run("up(text='b')")["content"][0]["text"] == "B"


def test_without_a_running_server_that_is_said(tmp_path: Path) -> None:
    write_extension(tmp_path, "own", "def add(a: int) -> int:\n    'Add.'\n    return a + 1\n")
    (tmp_path / ".onetool" / "onetool.yaml").write_text(CONFIG)

    servers, workers, reloaded = (onetool(tmp_path, word) for word in ("servers", "workers", "reload"))
    [seen] = json_of(tmp_path, "servers")

    assert (reloaded.returncode, reloaded.stdout) == (
        0,
        "None of your servers is running; the next one reads the configuration when it starts.\n",
    )
    assert servers.stdout.startswith("None of your servers is running; as seen from here")
    assert "  paper  not connected" in servers.stdout
    assert "  own  not started" in workers.stdout
    assert (seen["pid"], [each["state"] for each in seen["servers"]]) == (None, ["disabled", "not connected"])


def test_a_folder_that_others_can_write_to_is_not_believed(tmp_path: Path) -> None:
    folder = tmp_path / ".onetool" / "state" / "running"
    folder.mkdir(parents=True)
    folder.chmod(0o777)

    refused = onetool(tmp_path, "reload")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{folder}: belongs to others, or others can write to it; remove it" in refused.stderr


def test_a_socket_of_another_program_is_no_server(tmp_path: Path) -> None:
    folder = tmp_path / ".onetool" / "state" / "running"
    folder.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "other.sock"))
        other.listen()

        assert ask_running(tmp_path, "servers") == []


def test_a_killed_server_leaves_nothing_that_is_taken_for_one(tmp_path: Path) -> None:
    with start_raw_server(tmp_path) as running:
        assert running.run("1 + 1")["content"][0]["text"] == "2"
        assert len(json_of(tmp_path, "workers")) == 1
        [left] = (tmp_path / ".onetool" / "state" / "running").iterdir()
        assert left.stat().st_mode & 0o777 == 0o600
    # `end` killed it.

    assert json_of(tmp_path, "reload") == []
    assert [*left.parent.iterdir()] == []


def test_an_incident_that_an_answer_names_is_found_in_the_log(server: tuple[Path, RawServer]) -> None:
    folder, running = server
    answer = running.run("demo.fail(message='gone', kind='RuntimeError')")["content"][0]["text"]
    named = re.search(r"incident ([0-9a-f]{8})", answer)
    assert named is not None, answer

    [entry] = json_of(folder, "logs", named[1])
    shown = onetool(folder, "logs", named[1]).stdout
    unknown = onetool(folder, "logs", "00000000")

    assert (entry["incident"], entry["level"]) == (named[1], "ERROR")
    assert "Traceback" in entry["detail"]
    assert shown.splitlines()[0].endswith(f"incident={named[1]}") or f"incident='{named[1]}'" in shown
    assert "    Traceback (most recent call last):" in shown
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "there is no incident 00000000" in unknown.stderr


def test_a_log_is_followed_also_into_the_file_that_takes_its_place(tmp_path: Path) -> None:
    log = tmp_path / "onetool.log"
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "onetool.yaml").write_text(f"log: {{file: {log}}}\n")
    log.write_text("2026-11-17T10:00:00.000Z ERROR   part.first incident=0badcafe\nTraceback\n")
    following = RawServer(tmp_path, command=("logs", "-f", "--json"), preloaded=True)

    def wait_for(count: int) -> list[Any]:
        return following._wait(lambda: following.messages() if len(following.lines) >= count else None, "entry")

    try:
        wait_for(1)
        with log.open("a") as stream:
            stream.write("2026-11-17T10:00:01.000Z WARNING part.second status=ok\n")
        wait_for(2)
        log.rename(tmp_path / "onetool.log.1")
        log.write_text("2026-11-17T10:00:02.000Z WARNING part.third status=ok\n")
        found = wait_for(3)
    finally:
        following.end()

    assert [entry["name"] for entry in found] == ["part.first", "part.second", "part.third"]
    assert (found[0]["incident"], found[0]["detail"]) == ("0badcafe", "Traceback")


def test_top_shows_a_server_over_http_and_says_when_there_is_none(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    nobody = onetool(tmp_path, "top")
    server = RawServer(tmp_path, "--http", "127.0.0.1:0", preloaded=True)
    try:
        server.wait_for_log("serving MCP at")
        deadline = time.monotonic() + WAIT
        while not (told := json_of(tmp_path, "top")) and time.monotonic() < deadline:
            time.sleep(0.05)  # until its engine is open
        shown = onetool(tmp_path, "top")
    finally:
        server.end()

    assert nobody.returncode == 1
    assert "no server over HTTP is running" in nobody.stderr
    [[replica]] = [each["replicas"] for each in told]
    assert replica["alive"] is True
    assert replica["status"]["disk_free"] > 0
    assert shown.stdout.splitlines()[1].split()[:2] == [replica["name"], "serving"]
    assert "spaces" not in shown.stdout
