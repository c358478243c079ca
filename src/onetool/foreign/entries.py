"""One server as another client writes it down, its references included, and the same as an entry of our `servers:`."""

from __future__ import annotations

import ntpath
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple, TypedDict

from mcp_core.json_types import Json, list_of, mapping_of
from onetool.foreign import wsl

_REFERENCE = re.compile(r"\$\{([^}\n]*)\}")
_CURLY = re.compile(r"\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|file:[^}\n]*)\}", re.ASCII)
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WITH_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):-(.*)", re.ASCII | re.DOTALL)


class References(Enum):
    """The ways in which clients write a variable inside a value."""

    BRACES = "${NAME}"
    BARE = "$NAME as well"
    CURLY = "{env:NAME}"
    NONE = "not at all: every text stands for itself"


@dataclass
class Translator:
    """Translates the values of one server; collects variables that are `wanted`, and references `unknown` to us."""

    environ: Mapping[str, str]
    home: Path
    project: Path
    inputs: Mapping[str, str] = field(default_factory=dict)  # what the client asks a person for, and with which words
    references: References = References.BRACES
    plugin: Path | None = None  # the folder of the plugin of Claude Code that has the server
    wanted: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def translate(self, text: str, name: str = "") -> str:
        """Return a value in OneTool's notation; `name` is the variable that it is the value of, if it is one."""
        if self.references is References.NONE:
            return _escaped(text)
        if self.references is References.CURLY:
            return _CURLY.sub(self._curly, _escaped(text))
        if self.references is References.BARE:
            text = _BARE.sub(r"${\1}", text)
        parts: list[str] = []
        place = 0
        for match in _REFERENCE.finditer(text):
            parts += [_escaped(text[place : match.start()]), self._replacement(match[1], text == match[0], name)]
            place = match.end()
        return "".join([*parts, _escaped(text[place:])])

    def _curly(self, match: re.Match[str]) -> str:
        if match[1]:
            return self.variable(match[1])
        self.unknown.append(match[0])  # a file
        return match[0]

    def _replacement(self, reference: str, whole: bool, name: str) -> str:  # noqa: FBT001 - a fact about the match
        kind, _, rest = reference.partition(":")
        places = dict.fromkeys(("workspaceFolder", "workspaceRoot"), str(self.project))
        places |= {"workspaceFolderBasename": self.project.name, "userHome": str(self.home)}
        places |= dict.fromkeys(("pathSeparator", "/"), "/")
        places |= {} if self.plugin is None else {"CLAUDE_PLUGIN_ROOT": str(self.plugin)}
        if reference in places:
            return _escaped(places[reference])
        if kind == "env" and _NAME.fullmatch(rest):
            return self.variable(rest)
        if kind == "input" and rest:
            own = name if whole and _NAME.fullmatch(name) else re.sub(r"\W+", "_", rest, flags=re.ASCII).upper()
            return self.variable(own.lstrip("0123456789") or "INPUT", self.inputs.get(rest, ""))
        if _NAME.fullmatch(reference):
            return self.variable(reference)
        if (match := _WITH_DEFAULT.fullmatch(reference)) is not None:
            return f"${{{match[1]}}}" if match[1] in self.environ else _escaped(match[2])
        self.unknown.append(f"${{{reference}}}")
        return f"$${{{reference}}}"

    def variable(self, name: str, reason: str = "") -> str:
        """Return the reference to a variable of the environment, which must be there or is wanted."""
        if name not in self.environ:
            self.wanted.setdefault(name, reason)
        return f"${{{name}}}"


def _escaped(text: str) -> str:
    return text.replace("${", "$${")


_TRANSPORTS = frozenset(
    {"stdio", "http", "sse", "streamable-http", "streamablehttp", "streamable_http", "local", "remote"}
)
_WITHIN_GOOSE = ("builtin", "platform", "frontend", "inline_python")
_OWN_NAMES = frozenset({"onetool", "onetool.exe"})
_OWN_PACKAGE = re.compile(r"onetool(-run)?(\[.*\])?([@=<>~!].*)?")
_RUNNERS = frozenset({"uv", "uvx", "pipx"})
# Cursor and Zed, Codex, and Gemini CLI each have their own keys for which tools are offered.
_FILTERS = {"allow": ("enabled_tools", "includeTools"), "deny": ("disabledTools", "disabled_tools", "excludeTools")}


class UnusableEntryError(Exception):
    """A server that cannot be imported; the text says why."""


class ServerEntry(TypedDict, total=False):
    """One server as it is written under `servers:` of our configuration."""

    command: str
    args: list[str]
    env: dict[str, str]
    cwd: str
    url: str
    headers: dict[str, str]
    enabled: bool
    tools: dict[str, list[str]]


class TranslatedServer(NamedTuple):
    """A server as an entry of ours; its secrets are still in clear text, and are taken out before it is written."""

    settings: ServerEntry
    note: str = ""


def is_onetool(entry: Json) -> bool:
    """True if an entry starts OneTool itself, which would then call itself."""
    command, arguments = own_command_line(entry) if isinstance(entry, dict) else (None, [])
    if not isinstance(command, str):
        return False
    program = ntpath.basename(command.strip()).lower()
    if program in _OWN_NAMES:
        return True
    words = [word for word in arguments if isinstance(word, str)]
    if program.startswith("python"):
        return words[:2] == ["-m", "onetool"] or ntpath.basename("".join(words[:1])).lower() in _OWN_NAMES
    return program.removesuffix(".exe") in _RUNNERS and any(_OWN_PACKAGE.fullmatch(word) for word in words)


def read_entry(entry: Json, translator: Translator, *, folder: Path | None) -> TranslatedServer:
    """Translate one entry; raises UnusableEntryError. `folder` is what relative places in it start from."""
    if not isinstance(entry, dict):
        raise UnusableEntryError("it is not an object")
    kind = entry.get("type", entry.get("transport"))
    if kind in _WITHIN_GOOSE:
        raise UnusableEntryError("it is a part of its client")
    if isinstance(kind, str) and kind.lower() not in _TRANSPORTS:
        raise UnusableEntryError(f"its transport {kind!r} is not one that OneTool speaks")
    command, arguments = command_line(entry)
    url = next(
        (text for key in ("url", "serverUrl", "httpUrl", "uri") if isinstance(text := entry.get(key), str)), None
    )
    if isinstance(command, str) and command.strip():
        settings = _started(command, arguments, entry, translator, folder)
    elif url is not None:
        settings = _reached(url, entry, translator)
    elif entry.get("source") == "extension" or "settings" in entry:
        raise UnusableEntryError("an extension of the client starts it, so its command is not written down")
    else:
        raise UnusableEntryError("it has neither a command nor an address")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        settings["enabled"] = False
    named = ((rule, _words(entry.get(key))) for rule, keys in _FILTERS.items() for key in keys)
    if filters := {rule: names for rule, names in named if names}:
        settings["tools"] = filters
    if "envFile" in entry:
        return TranslatedServer(settings, f"its envFile {entry['envFile']!r} is not read: put what it needs into env")
    return TranslatedServer(settings)


def command_line(entry: Mapping[str, Json]) -> tuple[Json, list[Json]]:
    """Return the program that an entry starts and its arguments, in whatever way they are written down."""
    command, arguments = entry.get("command"), entry.get("args")
    if isinstance(command, dict):  # as Zed used to write it
        return command_line({"command": command.get("path"), "args": command.get("args")})
    if isinstance(command, list):
        return (command[0], command[1:]) if command else (None, [])
    if command is None:
        command = entry.get("cmd")  # as Goose writes it
    return command, arguments if isinstance(arguments, list) else []


def own_command_line(entry: Mapping[str, Json]) -> tuple[Json, list[Json]]:
    """Return the program that an entry starts and its arguments; inside the distribution if it starts them by WSL."""
    command, arguments = command_line(entry)
    return wsl.command_inside(command, arguments) if isinstance(command, str) else (command, arguments)


def _started(
    command: str, arguments: list[Json], entry: Mapping[str, Json], translator: Translator, folder: Path | None
) -> ServerEntry:
    settings: ServerEntry = {"command": _at_home(translator.translate(command.strip()), translator.home)}
    if arguments:
        settings["args"] = [translator.translate(_text(argument)) for argument in arguments]
    inside = mapping_of(entry.get("command"))
    env = next((entry[key] for key in ("env", "environment", "envs") if key in entry), inside.get("env"))
    # Of Codex: names of variables that are passed on. Of Goose: of secrets that it keeps elsewhere.
    passed = [*_words(entry.get("env_vars")), *_words(entry.get("env_keys"))]
    variables = {name: translator.variable(name) for name in passed}
    variables |= {name: translator.translate(value, name) for name, value in _texts(env).items()}
    if variables:
        settings["env"] = variables
    cwd = entry.get("cwd")
    if isinstance(cwd, str) and cwd.strip():
        place = _at_home(translator.translate(cwd), translator.home)
        settings["cwd"] = place if place.startswith("${") else os.path.normpath((folder or translator.home) / place)
    return settings


def _reached(url: str, entry: Mapping[str, Json], translator: Translator) -> ServerEntry:
    address = translator.translate(url.strip())
    if not address.startswith(("http://", "https://", "${")):
        raise UnusableEntryError("its address does not begin with http:// or https://")
    settings: ServerEntry = {"url": address}
    written = {**_texts(entry.get("headers")), **_texts(entry.get("http_headers"))}
    headers = {name: translator.translate(value) for name, value in written.items()}
    headers |= {name: translator.variable(value) for name, value in _texts(entry.get("env_http_headers")).items()}
    if isinstance(token := entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer {translator.variable(token)}"
    if headers:
        settings["headers"] = headers
    return settings


def _words(value: Json) -> list[str]:
    """Return the items of a list that are single words; anything else has none."""
    texts = (item for item in list_of(value) if isinstance(item, str))
    return [text for text in texts if text and not any(map(str.isspace, text))]


def _at_home(text: str, home: Path) -> str:
    return str(home / text[2:]) if text.startswith("~/") else text


def _texts(value: Json) -> dict[str, str]:
    return {name: _text(item) for name, item in mapping_of(value).items() if item is not None}


def _text(value: Json) -> str:
    """Return a value as text; many files have a number or a boolean where a text belongs."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
