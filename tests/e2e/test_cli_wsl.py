"""OneTool in a distribution of WSL: clients on Windows are found, and start it through `wsl.exe`."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ot.config.loader import load_config
from tests.e2e.raw_server import RawServer, environment_of
from tests.preloaded import run_preloaded

PACKAGED = "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json"


class Distribution:
    """A home in a distribution, the drive C: of Windows beside it, and the programs by which WSL joins the two."""

    def __init__(self, folder: Path) -> None:
        self.home, self.users = folder / "home", folder / "mnt" / "c" / "Users"
        (self.home / ".onetool").mkdir(parents=True)
        for name in ("Public", "Default", "Zoë"):
            (self.users / name / "AppData" / "Roaming").mkdir(parents=True)
        self.programs = folder / "bin"
        self.write_program(self.programs / "wslpath", f'[ "$2" = "C:\\\\" ] && echo {self.users.parent}/')
        self.write_program(self.programs / "wsl.exe", 'while [ "$1" != --exec ]; do shift; done; shift; exec "$@"')

    def write_program(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def sign_in(self, profile: str) -> None:
        """Have programs of Windows started as the user of this folder."""
        said = self.users.parent / "said"
        said.write_bytes(f"{profile}\r\n".encode("utf-16-le"))
        self.write_program(self.users.parent / "Windows" / "System32" / "cmd.exe", f"exec cat {said}")

    def write(self, place: str, content: object, user: str = "Zoë") -> Path:
        file = self.users / user / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return file

    @property
    def environment(self) -> dict[str, str]:
        variables = environment_of(self.home)
        path = f"{self.programs}{os.pathsep}{variables['PATH']}"
        return {**variables, "PATH": path, "WSL_DISTRO_NAME": "Ubuntu-24.04", "CODEX_HOME": "/nowhere"}

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = run_preloaded(*arguments, cwd=self.home, env=self.environment)
        assert done.returncode == status, done.stdout + done.stderr
        return done


@pytest.fixture
def distribution(tmp_path: Path) -> Distribution:
    return Distribution(tmp_path)


def entry_in(file: Path, key: str = "mcpServers") -> dict[str, Any]:
    return dict(json.loads(file.read_text("utf-8-sig"))[key]["onetool"])


@pytest.mark.parametrize(
    ("client", "place", "key"),
    [
        ("claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json", "mcpServers"),
        ("claude-desktop", PACKAGED, "mcpServers"),
        ("claude-code", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", "AppData/Roaming/Code/User/mcp.json", "servers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
        ("zed", "AppData/Roaming/Zed/settings.json", "context_servers"),
    ],
)
def test_a_client_on_windows_is_connected(distribution: Distribution, client: str, place: str, key: str) -> None:
    file = distribution.write(place, {})

    said = distribution.run("connect", client).stdout

    entry = entry_in(file, key)
    assert entry["command"] == "wsl.exe"
    assert entry["args"][:2] == ["--distribution", "Ubuntu-24.04"]
    assert entry["args"][-5:-1] == ["~", "--exec", "bash", "-lc"]
    assert entry["args"][-1].startswith("exec /")
    assert entry["args"][-1].removesuffix(" --look").endswith("/onetool serve")
    assert f"wrote {file} (backup: " in said


def test_the_command_that_is_written_starts_a_server(distribution: Distribution) -> None:
    file = distribution.write(".cursor/mcp.json", {})
    distribution.run("connect", "cursor")
    program = str(distribution.programs / entry_in(file)["command"])

    server = RawServer(distribution.home, command=(), program=(program, *entry_in(file)["args"]))

    try:
        server.initialize()
        assert server.run("1 + 1")["content"][0]["text"] == "2"
    finally:
        server.end()


def test_line_ends_and_byte_order_mark_stay_and_removal_is_exact(distribution: Distribution) -> None:
    before = codecs.BOM_UTF8 + b'{\r\n  "mcpServers": {\r\n    "own": {"command": "x.exe"}\r\n  }\r\n}\r\n'
    file = distribution.write(".cursor/mcp.json", before)

    distribution.run("connect", "cursor")

    written = file.read_bytes()
    assert written.startswith(codecs.BOM_UTF8)
    assert written.count(b"\n") == written.count(b"\r\n") > before.count(b"\n")
    assert f"OneTool is already in {file}." in distribution.run("connect", "cursor").stdout
    distribution.run("connect", "cursor", "--remove")
    assert file.read_bytes() == before


def test_a_client_in_the_distribution_comes_first(distribution: Distribution) -> None:
    there = distribution.write(".cursor/mcp.json", {})
    (distribution.home / ".cursor").mkdir()

    distribution.run("connect", "cursor")

    assert json.loads(there.read_text()) == {}
    assert entry_in(distribution.home / ".cursor" / "mcp.json")["args"] == ["serve", "--look"]
    distribution.run("connect", "cursor", "--windows-user", "Zoë")
    assert entry_in(there)["command"] == "wsl.exe"


def test_a_person_is_asked_which_user_of_windows_they_are(distribution: Distribution) -> None:
    distribution.write(".cursor/mcp.json", {})
    other = distribution.write("AppData/Roaming/x", {}, "Ada").parents[2] / ".cursor" / "mcp.json"

    refused = distribution.run("connect", "cursor", status=2).stderr

    assert "several users of Windows" in refused
    assert "Ada, Zoë" in refused
    assert "--windows-user NAME" in refused
    assert "Ada, Zoë" in distribution.run("connect").stderr
    distribution.run("connect", "cursor", "--windows-user", "Ada")
    assert entry_in(other)["command"] == "wsl.exe"
    assert "its users: Ada, Zoë" in distribution.run("connect", "cursor", "--windows-user", "Eve", status=2).stderr


def test_windows_is_asked_who_is_signed_in(distribution: Distribution) -> None:
    file = distribution.write(".cursor/mcp.json", {})
    distribution.write("AppData/Roaming/x", {}, "Ada")
    distribution.sign_in("C:\\Users\\Zoë")

    distribution.run("connect", "cursor")

    assert entry_in(file)["command"] == "wsl.exe"


def test_clients_on_windows_are_listed(distribution: Distribution) -> None:
    distribution.write(".cursor/mcp.json", {})
    distribution.run("connect", "cursor")

    states = json.loads(distribution.run("connect", "--json").stdout)

    [cursor] = [each for each in states if each["client"] == "cursor" and each["windows_user"] == "Zoë"]
    assert cursor["command"].startswith("wsl.exe --distribution Ubuntu-24.04 ")
    assert "cursor (Windows)" in distribution.run("connect").stdout


def test_servers_of_clients_on_windows_are_imported_as_they_can_be_started_here(distribution: Distribution) -> None:
    drive = distribution.users.parent
    entries = {
        "files": {"command": "cmd", "args": ["/c", "npx", "-y", "server-files", "C:\\Users\\Zoë\\Documents"]},
        "native": {"command": "C:\\Tools\\server.exe", "args": ["C:\\data"], "env": {"LEVEL": "1"}},
        "batch": {"command": "C:\\Tools\\server.cmd", "cwd": "C:\\Tools"},
        "onetool": {"command": "wsl.exe", "args": ["--", "bash", "-lc", "onetool serve"]},
    }
    file = distribution.write("AppData/Roaming/Claude/claude_desktop_config.json", {"mcpServers": entries})

    said = distribution.run("import", "--yes", "--offline", "--take-out").stdout

    servers = load_config(environ={}, cwd=distribution.home, home=distribution.home).config.servers
    assert servers["files"].command == "npx"
    assert servers["files"].args[-1] == f"{drive}/Users/Zoë/Documents"
    assert (servers["native"].command, servers["native"].args) == (f"{drive}/Tools/server.exe", ("C:\\data",))
    assert servers["native"].env == {"LEVEL": "1", "WSLENV": "LEVEL"}
    assert (servers["batch"].command, servers["batch"].args) == ("cmd.exe", ("/c", "C:\\Tools\\server.cmd"))
    assert str(servers["batch"].cwd) == f"{drive}/Tools"
    assert "this is OneTool itself" in said
    assert list(json.loads(file.read_text())["mcpServers"]) == ["onetool"]
    distribution.run("import", "--undo")
    assert json.loads(file.read_text())["mcpServers"] == entries


def test_outside_wsl_there_is_no_user_of_windows(tmp_path: Path) -> None:
    if "microsoft" in os.uname().release.lower():
        pytest.skip("this is WSL")

    done = run_preloaded("connect", "cursor", "--windows-user", "me", cwd=tmp_path, env=environment_of(tmp_path))

    assert done.returncode == 2
    assert "--windows-user is for a distribution of WSL" in done.stderr
