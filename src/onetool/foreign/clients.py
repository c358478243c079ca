"""The supported MCP clients: where their configuration is on this system, and how servers are written in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import JsonObject
from onetool.foreign.references import References


@dataclass(frozen=True, slots=True)
class ClientFile:
    """One file that may list servers: under the path `keys`, and under each of `more_keys`.

    `project` is the folder that it belongs to, None if it is the person's own. `references` is how the client writes a
    variable in a value.
    """

    client: str
    file: Path
    keys: tuple[str, ...] = ("mcpServers",)
    more_keys: tuple[tuple[str, ...], ...] = ()
    project: Path | None = None

    @property
    def references(self) -> References:
        return {"codex": References.NONE, "gemini": References.BARE}.get(self.client, References.BRACES)


CLIENTS = {
    "project": "the project's .mcp.json, which several clients read",
    "claude-code": "Claude Code",
    "claude-desktop": "Claude Desktop",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "windsurf": "Windsurf",
    "zed": "Zed",
    "codex": "Codex",
    "gemini": "Gemini CLI",
}


@dataclass(frozen=True, slots=True)
class System:
    """The folders in which programs keep their files on this operating system."""

    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def local(cls) -> System:
        """Return the folders of this person on this machine."""
        return cls(Path.home(), os.environ)

    @property
    def application_data(self) -> Path:
        """The folder of desktop programs."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return self.configuration

    @property
    def configuration(self) -> Path:
        """The folder of programs that follow the XDG rules."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


def client_files(system: System, project: Path) -> list[ClientFile]:
    """List every file that applies to a project, those of the project first; they need not exist."""
    data, home = system.application_data, system.home
    zed = data / "Zed" if system.platform == "win32" else system.configuration / "zed"
    codex = Path(system.environ.get("CODEX_HOME") or home / ".codex")
    claude = ("projects", str(project), "mcpServers")
    return [
        ClientFile("project", project / ".mcp.json", project=project),
        ClientFile("cursor", project / ".cursor" / "mcp.json", project=project),
        ClientFile("vscode", project / ".vscode" / "mcp.json", ("servers",), project=project),
        ClientFile("vscode", project / ".vscode" / "settings.json", ("mcp", "servers"), project=project),
        ClientFile("zed", project / ".zed" / "settings.json", ("context_servers",), project=project),
        ClientFile("codex", project / ".codex" / "config.toml", ("mcp_servers",), project=project),
        ClientFile("gemini", project / ".gemini" / "settings.json", project=project),
        ClientFile("claude-code", home / ".claude.json", claude, (("mcpServers",),)),
        ClientFile("claude-desktop", data / "Claude" / "claude_desktop_config.json"),
        ClientFile("cursor", home / ".cursor" / "mcp.json"),
        *(
            ClientFile("vscode", data / edition / "User" / name, keys)
            for edition in ("Code", "Code - Insiders")
            for name, keys in (("mcp.json", ("servers",)), ("settings.json", ("mcp", "servers")))
        ),
        ClientFile("windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ClientFile("zed", zed / "settings.json", ("context_servers",)),
        ClientFile("codex", codex / "config.toml", ("mcp_servers",)),
        ClientFile("gemini", home / ".gemini" / "settings.json"),
    ]


def connection_file(client: str, system: System, project: Path | None) -> ClientFile | None:
    """Return the file to which a server is added for a client: the project's if there is one, else the person's own.

    None if the client has no such file.
    """
    files = client_files(system, project or system.home)
    if client == "claude-code":  # the file that it shares in a project has another name
        home = ClientFile(client, system.home / ".claude.json")
        return home if project is None else ClientFile(client, project / ".mcp.json", project=project)
    own = [each for each in files if each.client == client and (each.project is not None) == (project is not None)]
    return own[0] if own else None


def connection_entry(client: str, command: str, arguments: list[str]) -> JsonObject:
    """Return the entry by which a client starts a server."""
    started: JsonObject = {"command": command, "args": [*arguments]}
    match client:
        case "claude-code" | "vscode":
            return {"type": "stdio", **started}
        case "zed":
            return {"source": "custom", **started, "env": {}}
    return started
