"""The supported MCP clients: where their configuration is, how servers are written in it, and a survey of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mcp_core.json_types import Json, JsonObject, list_of, mapping_of
from onetool.foreign import wsl
from onetool.foreign.entries import (
    References,
    TranslatedServer,
    Translator,
    UnusableEntryError,
    command_line,
    is_onetool,
    read_entry,
)
from onetool.foreign.text_files import TextFile, follow, read_client_document, read_text_file
from ot.errors import ConfigError


class ClientFile(NamedTuple):
    """One file that may list servers: under the path `keys`, and under each of `more_keys`.

    `project` is the folder that it belongs to, None if it is the person's own. `references` is how the client writes a
    variable in a value.
    """

    client: str
    file: Path
    keys: tuple[str, ...] = ("mcpServers",)
    more_keys: tuple[tuple[str, ...], ...] = ()
    project: Path | None = None
    plugin: Path | None = None  # its folder, if it is a plugin's, which only its client changes

    @property
    def references(self) -> References:
        return _REFERENCES.get(self.client, References.BRACES)


_REFERENCES = {
    "codex": References.NONE,
    "gemini": References.BARE,
    "opencode": References.CURLY,
    "goose": References.NONE,
}


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
    "antigravity": "Antigravity",
    "cline": "Cline",
    "copilot": "Copilot CLI",
    "goose": "Goose",
    "junie": "Junie",
    "kiro": "Kiro",
    "lm-studio": "LM Studio",
    "opencode": "OpenCode",
}


LOOKING = frozenset({"claude-code", "cursor", "vscode"})
"""Those that let a tool which only reads pass unasked, so that `look` saves their person questions."""

_FOLDER_VARIABLES = frozenset({"APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"})


@dataclass(frozen=True, slots=True)
class System:
    """The folders in which programs keep their files on this operating system.

    `drives` is where the drives of Windows are, if this is Windows and OneTool is in a distribution of WSL on it.
    """

    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform
    drives: Path | None = None

    @classmethod
    def local(cls) -> System:
        return cls(Path.home(), os.environ)

    @classmethod
    def windows(cls, user: str = "") -> System | None:
        """Return the Windows around this distribution of WSL, None if this is none; raises ConfigError.

        `user` is the name of the person's folder there, which is looked for without it.
        """
        found = wsl.find_windows_user(os.environ, user)
        if found is None:
            return None
        environ = {name: value for name, value in os.environ.items() if name not in _FOLDER_VARIABLES}
        return cls(found.folder, environ, "win32", found.drives)

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
        """The folder of programs that follow the XDG rules, on macOS but for the variable."""
        named = None if self.platform == "darwin" else self.environ.get("XDG_CONFIG_HOME")
        return Path(named or self.home / ".config")

    @property
    def claude_code(self) -> Path:
        return Path(self.environ.get("CLAUDE_CONFIG_DIR") or self.home) / ".claude.json"


def client_files(system: System, project: Path) -> list[ClientFile]:
    """List every file that applies to a project, those of the project first; they need not exist."""
    data, home = system.application_data, system.home
    zed = data / "Zed" if system.platform == "win32" else system.configuration / "zed"
    codex = Path(system.environ.get("CODEX_HOME") or home / ".codex")
    copilot = Path(system.environ.get("COPILOT_HOME") or home / ".copilot")
    goose = data / "Block/goose/config" if system.platform == "win32" else system.configuration / "goose"
    claude = ("projects", str(project), "mcpServers")
    # Claude Desktop for Windows is a package, whose folder of data is its own; older installations use the common one.
    packages = home.glob("AppData/Local/Packages/Claude_*/LocalCache") if system.platform == "win32" else ()
    desktop = [*(each / "Roaming" for each in sorted(packages)), data]
    return [
        ClientFile("project", project / ".mcp.json", project=project),
        ClientFile("cursor", project / ".cursor" / "mcp.json", project=project),
        ClientFile("vscode", project / ".vscode" / "mcp.json", ("servers",), project=project),
        ClientFile("vscode", project / ".vscode" / "settings.json", ("mcp", "servers"), project=project),
        ClientFile("zed", project / ".zed" / "settings.json", ("context_servers",), project=project),
        ClientFile("codex", project / ".codex" / "config.toml", ("mcp_servers",), project=project),
        ClientFile("gemini", project / ".gemini" / "settings.json", project=project),
        ClientFile("antigravity", project / ".agents" / "mcp_config.json", project=project),
        ClientFile("copilot", project / ".github" / "mcp.json", project=project),
        ClientFile("junie", project / ".junie" / "mcp" / "mcp.json", project=project),
        ClientFile("kiro", project / ".kiro" / "settings" / "mcp.json", project=project),
        *_opencode_files(project, project=project),
        ClientFile("claude-code", system.claude_code, claude, (("mcpServers",),)),
        *(ClientFile("claude-desktop", each / "Claude" / "claude_desktop_config.json") for each in desktop),
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
        ClientFile("goose", goose / "config.yaml", ("extensions",)),
        ClientFile("antigravity", home / ".gemini" / "config" / "mcp_config.json"),
        ClientFile("cline", home / ".cline" / "data" / "settings" / _CLINE),
        ClientFile("cline", data / "Code/User/globalStorage/saoudrizwan.claude-dev/settings" / _CLINE),
        ClientFile("copilot", copilot / "mcp-config.json"),
        ClientFile("junie", home / ".junie" / "mcp" / "mcp.json"),
        ClientFile("kiro", home / ".kiro" / "settings" / "mcp.json"),
        ClientFile("lm-studio", home / ".lmstudio" / "mcp.json"),
        *_opencode_files(system.configuration / "opencode"),
    ]


def plugin_files(system: System, project: Path) -> list[ClientFile]:
    """List the files in which plugins of Claude Code that are switched on have servers."""
    folder = Path(system.environ.get("CLAUDE_CONFIG_DIR") or system.home / ".claude")
    settings = [folder / "settings.json", *(project / ".claude" / f"settings{kind}.json" for kind in ("", ".local"))]
    enabled: dict[str, Json] = {}
    for file in settings:  # the nearest last
        with suppress(ConfigError):
            enabled |= mapping_of(read_client_document(read_text_file(file)).get("enabledPlugins"))
    with suppress(ConfigError):
        listed = mapping_of(
            read_client_document(read_text_file(folder / "plugins/installed_plugins.json")).get("plugins")
        )
        places = (
            (name, mapping_of(each).get("installPath")) for name, all_of in listed.items() for each in list_of(all_of)
        )
        roots = [Path(place) for name, place in places if enabled.get(name) is True and isinstance(place, str)]
        names = (".mcp.json", ".claude-plugin/plugin.json")
        return [
            ClientFile("claude-code", root / name, more_keys=((),) if name == ".mcp.json" else (), plugin=root)
            for root in dict.fromkeys(roots)
            if root.is_absolute()
            for name in names
        ]
    return []


_CLINE = "cline_mcp_settings.json"
_OPENCODE_1 = ("mcp",)  # where version 1 has servers, and version 2 what it has them in


def _opencode_files(folder: Path, *, project: Path | None = None) -> list[ClientFile]:
    """Return both files that it reads, one that is there first, since that is the one a person edits."""
    files = sorted((folder / name for name in ("opencode.json", "opencode.jsonc")), key=lambda file: not file.exists())
    return [ClientFile("opencode", file, (*_OPENCODE_1, "servers"), (_OPENCODE_1,), project) for file in files]


def connection_file(client: str, system: System, project: Path | None) -> ClientFile | None:
    """Return the file to which a server is added: the project's if there is one, else the person's own; or None."""
    files = client_files(system, project or system.home)
    if client == "claude-code":  # the file that it shares in a project has another name
        home = ClientFile(client, system.claude_code)
        return home if project is None else ClientFile(client, project / ".mcp.json", project=project)
    own = [each for each in files if each.client == client and (each.project is not None) == (project is not None)]
    return own[0] if own else None


def connection_entry(client: str, command: str, arguments: list[str]) -> JsonObject:
    started: JsonObject = {"command": command, "args": [*arguments]}
    match client:
        case "claude-code" | "vscode":
            return {"type": "stdio", **started}
        case "zed":
            return {"source": "custom", **started, "env": {}}
        case "copilot":
            return {"type": "local", **started, "tools": ["*"]}
        case "goose":
            known: JsonObject = {"name": "onetool", "enabled": True, "envs": {}, "env_keys": [], "timeout": 300}
            return {"type": "stdio", "cmd": command, "args": [*arguments], **known}
        case "opencode":
            return {"type": "local", "command": [command, *arguments]}
    return started


MAX_SERVERS = 500


class ForeignServer(NamedTuple):
    """One server in a client's file; without an entry it cannot be imported, and `reason` says why.

    `wanted` are variables that it needs and nobody has set, with the prompt that its client shows for them. `path` is
    its place in the file, `written` the value there.
    """

    name: str
    source: ClientFile
    path: tuple[str, ...]
    written: Json
    entry: TranslatedServer | None = None
    reason: str = ""
    wanted: Mapping[str, str] | None = None
    unknown: tuple[str, ...] = ()

    @property
    def everywhere(self) -> bool:
        """True if its client has it in all projects."""
        return self.source.project is None and self.path[0] != "projects"


class Survey(NamedTuple):
    """Everything that was found, in the order in which it takes precedence; and what could not be read."""

    found: tuple[ForeignServer, ...]
    broken: tuple[ConfigError, ...]
    files: tuple[Path, ...]


def survey(system: System, project: Path, *, only: Sequence[str] = (), windows: System | None = None) -> Survey:
    """Read the files of all clients, or of some, those on Windows too; a broken one is reported and harms no other."""
    found: list[ForeignServer] = []
    broken: list[ConfigError] = []
    files: list[Path] = []
    sources = [(system, each) for each in (*client_files(system, project), *plugin_files(system, project))]
    if windows is not None:
        sources += [(windows, each) for each in client_files(windows, project) if each.project is None]
    for owner, source in sources:
        if only and source.client not in only:
            continue
        try:
            read = read_text_file(source.file)
            if read.content is None:
                continue
            servers = list(_read(source, read, owner, project))
        except ConfigError as error:
            broken.append(error)
            continue
        if servers or not source.file.name.startswith("settings"):
            files.append(source.file)
        found += servers
    return Survey(tuple(found), tuple(broken), tuple(files))


def _read(source: ClientFile, original: TextFile, system: System, project: Path) -> Iterator[ForeignServer]:
    document = read_client_document(original)
    for keys in (_as_written(document, each) for each in (source.keys, *source.more_keys)):
        servers = follow(document, keys)
        if servers is None or (source.plugin is not None and not keys and "mcpServers" in document):
            continue
        if keys == _OPENCODE_1 and isinstance(servers, dict):
            servers = {name: entry for name, entry in servers.items() if isinstance(entry, dict) and "type" in entry}
        if not isinstance(servers, dict):
            raise ConfigError("does not hold an object", file=source.file, key=".".join(keys), fix="it was left out")
        # What the client asks a person for: ids, and the prompt for each.
        asked = (item for item in list_of(follow(document, (*keys[:-1], "inputs"))) if isinstance(item, dict))
        inputs = {str(item["id"]): str(item.get("description", "")) for item in asked if "id" in item}
        for name, entry in list(servers.items())[:MAX_SERVERS]:
            path, translated, reason = (*keys, name), None, "this is OneTool itself" if is_onetool(entry) else ""
            translator = Translator(system.environ, system.home, project, inputs, source.references, source.plugin)
            try:
                translated = None if reason else read_entry(_local(entry, system), translator, folder=source.project)
            except UnusableEntryError as error:
                reason = str(error)
            wanted, unknown = (None, ()) if reason else (translator.wanted, tuple(translator.unknown))
            yield ForeignServer(name, source, path, entry, translated, reason, wanted, unknown)


def _local(entry: Json, system: System) -> Json:
    """Return an entry so that it can be started here, if its client is on Windows."""
    command, arguments = command_line(entry) if isinstance(entry, dict) else (None, [])
    if system.drives is None or not isinstance(entry, dict) or not isinstance(command, str):
        return entry
    return wsl.for_distribution(entry, command, arguments, system.drives)


def _as_written(document: JsonObject, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return keys with a project's folder as the client has written it, which may be another path to it."""
    projects = document.get("projects")
    if keys[:1] != ("projects",) or not isinstance(projects, dict) or keys[1] in projects:
        return keys
    wanted = os.path.realpath(keys[1])
    return ("projects", next((path for path in projects if os.path.realpath(path) == wanted), keys[1]), *keys[2:])
