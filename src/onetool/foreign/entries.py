"""One server as another client writes it down, and the same as an entry of our `servers:`."""

from __future__ import annotations

import ntpath
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import Json, JsonObject
from onetool.foreign.references import Translator

_TRANSPORTS = frozenset({"stdio", "http", "sse", "streamable-http", "streamablehttp", "streamable_http"})
_OWN_NAMES = frozenset({"onetool", "onetool.exe"})
_OWN_PACKAGE = re.compile(r"onetool(-run)?(\[.*\])?([@=<>~!].*)?")
_RUNNERS = frozenset({"uv", "uvx", "pipx"})
_FILTERS = {
    "allow": ("enabled_tools", "includeTools"),
    "deny": ("disabledTools", "disabled_tools", "excludeTools"),
}


class UnusableEntryError(Exception):
    """A server that cannot be imported; the text says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A server in our terms; what is secret in it is still in clear, and is taken out before anything is written."""

    settings: JsonObject
    notes: tuple[str, ...] = ()


def is_onetool(entry: object) -> bool:
    """True if an entry starts OneTool itself, which would call itself in a circle."""
    if not isinstance(entry, Mapping):
        return False
    command, arguments = command_line(entry)
    if not isinstance(command, str):
        return False
    program = ntpath.basename(command.strip()).lower()
    if program in _OWN_NAMES:
        return True
    words = [word for word in arguments if isinstance(word, str)]
    if program.startswith("python"):
        return words[:2] == ["-m", "onetool"] or ntpath.basename("".join(words[:1])).lower() in _OWN_NAMES
    return program.removesuffix(".exe") in _RUNNERS and any(_OWN_PACKAGE.fullmatch(word) for word in words)


def read_entry(entry: object, translator: Translator, *, folder: Path | None) -> Entry:
    """Translate one entry; raises UnusableEntryError. `folder` is what relative places in it start from."""
    if not isinstance(entry, Mapping):
        raise UnusableEntryError("it is not an object")
    kind = entry.get("type", entry.get("transport"))
    if isinstance(kind, str) and kind.lower() not in _TRANSPORTS:
        raise UnusableEntryError(f"its transport {kind!r} is not one that OneTool speaks")
    command, arguments = command_line(entry)
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(entry.get(key), str)), None)
    if isinstance(command, str) and command.strip():
        settings = _started(command, arguments, entry, translator, folder)
    elif isinstance(url, str):
        settings = _reached(url, entry, translator)
    elif entry.get("source") == "extension" or "settings" in entry:
        raise UnusableEntryError("an extension of the client starts it, so its command is not written down")
    else:
        raise UnusableEntryError("it has neither a command nor an address")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        settings["enabled"] = False
    if filters := _filters(entry):
        settings["tools"] = filters
    notes = []
    if "envFile" in entry:
        notes.append(f"its envFile {entry['envFile']!r} is not read: put what it needs into env")
    return Entry(settings, tuple(notes))


def _filters(entry: Mapping[str, Json]) -> JsonObject:
    """Return which tools are offered: Cursor and Zed, Codex and Gemini CLI each have their own words for it."""
    filters: JsonObject = {}
    for rule, keys in _FILTERS.items():
        for key in keys:
            listed = entry.get(key)
            if isinstance(listed, list) and (names := [name for name in listed if _is_word(name)]):
                filters[rule] = names
    return filters


def command_line(entry: Mapping[str, Json]) -> tuple[object, list[Json]]:
    """Return the program that an entry starts and its arguments, in whatever way they are written down."""
    command: Json = entry.get("command")
    arguments: Json = entry.get("args")
    if isinstance(command, Mapping):  # as Zed used to write it
        command, arguments = command.get("path"), command.get("args")
    if isinstance(command, list):
        command, arguments = (command[0] if command else None), command[1:]
    return command, arguments if isinstance(arguments, list) else []


def _started(
    command: str, arguments: list[Json], entry: Mapping[str, Json], translator: Translator, folder: Path | None
) -> JsonObject:
    settings: JsonObject = {"command": _at_home(translator.translate(command.strip()), translator.home)}
    if arguments:
        settings["args"] = [translator.translate(_text(argument)) for argument in arguments]
    inner = entry.get("command")
    env = entry.get("env", inner.get("env") if isinstance(inner, Mapping) else None)
    passed = entry.get("env_vars")  # of Codex: names of variables that are passed on
    names = [name for name in passed if _is_word(name)] if isinstance(passed, list) else []
    variables = {name: translator.variable(name) for name in names}
    variables |= {name: translator.translate(value, name) for name, value in _texts(env).items()}
    if variables:
        settings["env"] = variables
    cwd = entry.get("cwd")
    if isinstance(cwd, str) and cwd.strip():
        place = _at_home(translator.translate(cwd), translator.home)
        settings["cwd"] = place if place.startswith("${") else os.path.normpath((folder or translator.home) / place)
    return settings


def _reached(url: str, entry: Mapping[str, Json], translator: Translator) -> JsonObject:
    address = translator.translate(url.strip())
    if not address.startswith(("http://", "https://", "${")):
        raise UnusableEntryError("its address does not begin with http:// or https://")
    settings: JsonObject = {"url": address}
    written = {**_texts(entry.get("headers")), **_texts(entry.get("http_headers"))}
    headers = {name: translator.translate(value) for name, value in written.items()}
    headers |= {name: translator.variable(value) for name, value in _texts(entry.get("env_http_headers")).items()}
    if isinstance(token := entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer {translator.variable(token)}"
    if headers:
        settings["headers"] = headers
    return settings


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value != "" and not any(character.isspace() for character in value)


def _at_home(text: str, home: Path) -> str:
    return str(home / text[2:]) if text.startswith("~/") else text


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {str(name): _text(item) for name, item in value.items() if item is not None}


def _text(value: object) -> str:
    """Return a value that should be text as one; in many files it is a number or a boolean."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
