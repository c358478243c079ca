"""OneTool written into the configuration of another client: first shown as a difference, then written whole."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import Json
from onetool.foreign.clients import CLIENTS, System, connection_entry, connection_file
from onetool.foreign.entries import is_onetool
from onetool.foreign.json_edit import put_member
from onetool.foreign.jsonc import JsoncError, parse_jsonc
from onetool.foreign.secret_values import masked
from onetool.foreign.text_files import TextFile, read_text_file
from ot.errors import ConfigError

NAME = "onetool"
_PAIR = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"\s*:\s*"(?P<value>(?:[^"\\]|\\.)*)"')
_TEXT = re.compile(r'"(?P<value>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Connection:
    """A client's file as it is, and as it would be; the same where OneTool is in it already."""

    original: TextFile
    text: str

    @property
    def changes(self) -> bool:
        return self.text != self.original.text


def plan_connection(client: str, system: System, *, project: Path | None, config: Path | None = None) -> Connection:
    """Work out the change; nothing is written. Raises ConfigError where the file cannot be edited."""
    place = connection_file(client, system, project)
    if place is None:
        level, fix = ("for a single project", "leave --project away") if project else ("of a person", "add --project")
        raise ConfigError(f"{CLIENTS[client]} has no configuration {level}", fix=fix)
    original = read_text_file(place.file)
    command, arguments = own_command(shared=project is not None)
    if config is not None:
        arguments += ["--config", str(config.absolute())]
    entry = connection_entry(client, command, arguments)
    try:
        if _knows_onetool(_current(original.text, place.keys)):
            return Connection(original, original.text)
        text = put_member(original.text, (*place.keys, NAME), entry, newline=original.newline)
    except JsoncError as error:
        raise ConfigError(f"is not valid JSON: {error}", file=place.file, fix="nothing was written") from None
    return Connection(original, text)


def own_command(*, shared: bool) -> tuple[str, list[str]]:
    """Return how OneTool is started: by its full path, since a desktop program has another PATH than a terminal.

    In a file that a project shares the path of one person is of no use to the others: there it goes by its name.
    """
    found = shutil.which(NAME)
    beside = Path(sys.executable).with_name(NAME)
    if shared and found is not None:
        return NAME, ["serve"]
    if beside.is_file():
        return str(beside), ["serve"]
    if found is not None:
        return str(Path(found).absolute()), ["serve"]
    return sys.executable, ["-m", "onetool", "serve"]


def show_difference(connection: Connection) -> Iterator[str]:
    """Yield the lines of a difference for a terminal; secrets of others that stand near the change are not shown."""
    file = connection.original.file
    before, after = connection.original.text.splitlines(), connection.text.splitlines()
    source = str(file) if connection.original.content is not None else "(a new file)"
    for line in difflib.unified_diff(before, after, source, str(file), lineterm="", n=2):
        yield line if line.startswith(("---", "+++", "@@")) else _masked(line)


def _masked(line: str) -> str:
    def mask(match: re.Match[str]) -> str:
        shown = masked(match.groupdict().get("name") or "", match["value"])
        return f'{match[0][: match.start("value") - match.start()]}{shown}"'

    return _TEXT.sub(mask, _PAIR.sub(mask, line))


def _knows_onetool(servers: object) -> bool:
    """True if OneTool is there, under whatever name, as somebody may have written it; one that has moved is not."""
    entries = servers.values() if isinstance(servers, dict) else ()
    return any(is_onetool(entry) and not _is_gone(entry.get("command")) for entry in entries)


def _is_gone(command: object) -> bool:
    return isinstance(command, str) and Path(command).is_absolute() and not Path(command).exists()


def _current(text: str, path: tuple[str, ...]) -> Json:
    node = parse_jsonc(text)
    for name in path:
        node = node.member(name) if node is not None else None
    return node.value if node is not None else None
