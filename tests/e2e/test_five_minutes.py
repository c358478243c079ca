"""The first five minutes: a person with eight clients imports, checks, connects, runs, and goes back to the letter."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from onetool.foreign.json_edit import parse_jsonc
from tests.e2e.raw_server import RawServer, environment_of
from tests.preloaded import run_preloaded
from tests.proxied import PROGRAMS

TOKEN = "ghp_abcdefghijklmnop1234"
PLAIN, SHOWS = (json.dumps(["-S", str(PROGRAMS / f"{name}.py")]) for name in ("plain_server", "shows_environment"))
ECHO = f'"command": "{sys.executable}", "args": {PLAIN}'

# Of each client: its file, the key under which its servers are, and a text as such files hold; ECHO starts a server.
CLIENTS = {
    "claude-code": (
        ".claude.json",
        "mcpServers",
        """{
  "numStartups": 12,
  "mcpServers": {
    "code": {"type": "stdio", ECHO}
  },
  "projects": {"/srv/shop": {"allowedTools": []}}
}
""",
    ),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "mcpServers",
        '{"globalShortcut": "", "mcpServers": {"desktop": {ECHO}}}',
    ),
    "cursor": (
        ".cursor/mcp.json",
        "mcpServers",
        """{
  "mcpServers": {
    "github": {"command": "PYTHON", "args": SHOWS, "env": {"GITHUB_TOKEN": "TOKEN"}},
    "cursor": {ECHO}
  }
}
""",
    ),
    "vscode": (
        ".config/Code/User/mcp.json",
        "servers",
        '{\n\t"servers": {\n\t\t"studio": {\n\t\t\tECHO\n\t\t}\n\t},\n\t"inputs": []\n}',
    ),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", '{"mcpServers": {"surf": {ECHO}}}\r\n'),
    "zed": (
        ".config/zed/settings.json",
        "context_servers",
        """// mine
{
  "theme": "One Dark", // of course
  "context_servers": {
    // slow
    "zed": {"source": "custom", ECHO, "env": {},},
  },
}
""",
    ),
    "codex": (
        ".codex/config.toml",
        "mcp_servers",
        """model = "gpt-5"  # for now

[mcp_servers.codex]
command = "PYTHON"
args = PLAIN

[mcp_servers.codex.env]
LEVEL = "info"

# what I trust
[projects."/srv/shop"]
trust_level = "trusted"
""",
    ),
    "gemini": (
        ".gemini/settings.json",
        "mcpServers",
        '{\n  "mcpServers": {"gemini": {ECHO}},\n  "theme": "Dracula"\n}\n',
    ),
}
SERVERS = ("code", "desktop", "github", "cursor", "studio", "surf", "zed", "codex", "gemini")


def filled(text: str) -> bytes:
    text = text.replace("ECHO", ECHO).replace("PLAIN", PLAIN).replace("SHOWS", SHOWS)
    return text.replace("PYTHON", sys.executable).replace('"TOKEN"', f'"{TOKEN}"').encode()


class Person:
    """A home that has nothing of OneTool, and the person's clients; commands are given in a folder of theirs."""

    def __init__(self, folder: Path) -> None:
        self.home, self.here = folder / "home", folder / "home" / "shop"
        self.here.mkdir(parents=True)
        for place, _, text in CLIENTS.values():
            file = self.home / place
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(filled(text))

    def onetool(self, *arguments: str, status: int = 0) -> str:
        done = run_preloaded(*arguments, cwd=self.here, env=environment_of(self.home))
        assert (done.returncode, done.stderr) == (status, ""), (arguments, done.stdout, done.stderr)
        return done.stdout

    def files(self) -> dict[str, bytes]:
        """What the clients have, byte by byte; copies beside their files do not count."""
        return {place: (self.home / place).read_bytes() for place, _, _ in CLIENTS.values()}

    def own_files(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (self.home / ".onetool").glob("*.yaml")}

    def servers_of(self, client: str) -> dict[str, Any]:
        place, key, _ = CLIENTS[client]
        text = (self.home / place).read_text()
        node = None if place.endswith(".toml") else parse_jsonc(text)
        document: Any = tomllib.loads(text) if node is None else node.value
        return dict(document.get(key, {}))

    def run_through(self, client: str, code: str) -> str:
        """Run code as a client does: by the command that stands in its file, from the person's home."""
        entry = self.servers_of(client)["onetool"]
        assert Path(entry["command"]).name == "onetool"
        server = RawServer(self.home, command=tuple(entry["args"]), preloaded=True)
        try:
            server.initialize()
            return str(server.run(code)["content"][0]["text"])
        finally:
            server.end()


COMPOSED = """
import json
environ = json.loads(github.echo())["environ"]
[zed.echo(text=cursor.echo(text="hi")), environ["GITHUB_TOKEN"]]
"""


@pytest.mark.long
def test_there_and_back_again(tmp_path: Path) -> None:
    person = Person(tmp_path)
    before = person.files()

    imported = person.onetool("import", "--take-out")

    assert "9 servers imported." in imported
    assert re.findall(r"^servers\.(\w+): +1 tool,", imported, re.MULTILINE) == list(SERVERS)
    assert TOKEN not in imported
    assert all(person.servers_of(client) == {} for client in CLIENTS)
    assert "// of course" in person.files()[".config/zed/settings.json"].decode()
    assert not (person.here / ".onetool").exists()

    checked = json.loads(person.onetool("check", "--json"))

    assert checked["ok"]
    assert [each["name"] for each in checked["started"]] == list(SERVERS)

    connected = person.onetool("connect", *CLIENTS)

    assert connected.count("wrote ~/") == len(CLIENTS)
    assert all(set(person.servers_of(client)) == {"onetool"} for client in CLIENTS)

    assert person.run_through("codex", COMPOSED) == "[hi, '***']"  # the secret is there, and hidden

    after = person.files(), person.own_files()
    assert person.onetool("connect", *CLIENTS).count("OneTool is already in") == len(CLIENTS)
    person.onetool("import", "--take-out")
    assert (person.files(), person.own_files()) == after

    restored = person.onetool("import", "--undo")
    removed = person.onetool("connect", "--remove", *CLIENTS)

    assert restored.count("exactly as before") == len(CLIENTS)
    assert removed.count("wrote ~/") == len(CLIENTS)
    assert person.files() == before

    assert "Nothing to put back" in person.onetool("import", "--undo")
    person.onetool("connect", "--remove", *CLIENTS)
    again = person.onetool("import")
    assert again.count("already in ~/.onetool/onetool.yaml") == len(SERVERS)
    assert (person.files(), person.own_files()) == (before, after[1])
