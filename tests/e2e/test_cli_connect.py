"""`onetool connect`: the command that it writes finds the same configuration from any folder, or says that it does not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.raw_server import RawServer, environment_of
from tests.preloaded import run_preloaded
from tests.trusting import trust_project


class Place:
    """A home, and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder, folder / "project"
        self.config = self.project / ".onetool" / "onetool.yaml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text("snippets: {two: {body: 1 + 1}}\n")
        (folder / ".onetool").mkdir()

    def connect(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_preloaded("connect", *arguments, cwd=self.project, env=environment_of(self.home))
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def arguments(self) -> list[str]:
        """The arguments with which Cursor starts OneTool."""
        servers = json.loads((self.home / ".cursor" / "mcp.json").read_text())["mcpServers"]
        return list(servers["onetool"]["args"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_project_that_is_trusted_is_served_from_any_folder(place: Place) -> None:
    trust_project(place.project, place.home)

    said = place.connect("cursor").stdout

    assert place.arguments() == ["serve", "--look", "--in", str(place.project)]
    assert "It serves this project, whatever folder it is started from" in said
    server = RawServer(place.home, command=tuple(place.arguments()), preloaded=True)
    try:
        server.initialize()
        assert server.run("$two")["content"][0]["text"] == "2"
    finally:
        server.end()


def test_a_project_that_nobody_has_trusted_is_named_and_left_out(place: Place) -> None:
    said = place.connect("cursor").stdout

    assert place.arguments() == ["serve", "--look"]
    assert "is not used from other folders, because you have not trusted it" in said


def test_a_file_that_is_named_is_named_to_the_client(place: Place) -> None:
    place.connect("cursor", "--config", ".onetool/onetool.yaml")

    assert place.arguments() == ["serve", "--look", "--config", str(place.config)]
    again = place.connect("cursor", "--config", "other.yaml").stdout
    assert "OneTool is already in ~/.cursor/mcp.json." in again
    assert f"without --config {place.project / 'other.yaml'}" in again
    assert place.arguments() == ["serve", "--look", "--config", str(place.config)]


def test_what_is_only_shown_is_whole_and_written_nowhere(place: Place) -> None:
    shown = place.connect("codex", "--print")

    assert shown.stderr == "for ~/.codex/config.toml:\n"
    assert shown.stdout.startswith("[mcp_servers.onetool]\ncommand = ")
    assert not (place.home / ".codex").exists()


def test_clients_are_listed_with_what_they_have(place: Place) -> None:
    (place.home / ".codex").mkdir()
    (place.home / ".gemini").mkdir()
    (place.home / ".gemini" / "settings.json").write_text("{")
    place.connect("cursor")

    listed = {line.split()[0]: line for line in place.connect().stdout.splitlines()}

    assert "connected: " in listed["cursor"]
    assert listed["codex"].endswith("not connected")
    assert "is not valid JSON" in listed["gemini"]
    assert listed["zed"].endswith("not found on this machine")


def test_a_client_that_we_do_not_know_is_a_mistake_of_usage(place: Place) -> None:
    assert "there is no client 'curser'; nearest: cursor" in place.connect("curser", status=2).stderr
