"""OneTool added to the configuration of another client, or removed from it: first planned, then written whole."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mcp_core.distribution import DISTRIBUTION
from mcp_core.installation import Way, find_installation
from mcp_core.json_types import Json, JsonObject, mapping_of
from onetool.foreign import text_files, wsl
from onetool.foreign.clients import CLIENTS, LOOKING, ClientFile, System, connection_entry, connection_file
from onetool.foreign.entries import command_line, is_onetool, own_command_line
from onetool.foreign.secret_values import masked
from ot.config.paths import CONFIG_FILE, Places
from ot.errors import ConfigError

NAME = "onetool"
_STRING = r"""(?:"(?P<value>(?:[^"\\]|\\.)*)"|'(?P<literal>[^']*)')"""  # of JSON or TOML
_PAIR = re.compile(rf'"?(?P<name>(?:[^"\\\s=:]|\\.)*)"?\s*[:=]\s*{_STRING}')
_TEXT = re.compile(_STRING)


class Connection(NamedTuple):
    """A client's file as it is, and as it would be, which may be the same. `entry` is our entry in it."""

    original: text_files.TextFile
    text: str
    entry: Mapping[str, Json]

    @property
    def changes(self) -> bool:
        return self.text != self.original.text

    def write(self) -> Path | None:
        """Write the change; returns the backup of the old file. A file that would be empty is removed."""
        if not self.text:
            file = self.original.file
            if text_files.read_text_file(file).content != self.original.content:
                raise ConfigError("was changed by another program in the meantime; nothing was removed", file=file)
            file.unlink(missing_ok=True)
            return None
        return text_files.replace_text_file(self.original, self.text)


@dataclass(frozen=True, slots=True)
class ClientState:
    """One client on this machine: its file, and the command by which it starts OneTool, empty if it does not."""

    client: str
    file: Path
    installed: bool  # judging by its folder
    command: str = ""
    problem: str = ""
    windows_user: str = ""  # whose file it is, on the Windows around this distribution of WSL

    @property
    def connecting(self) -> str:
        """The command that connects it."""
        user = ["--windows-user", self.windows_user] if self.windows_user else []
        return shlex.join(["onetool", "connect", self.client, *user])


def survey_connections(system: System) -> Iterator[ClientState]:
    for client in CLIENTS:
        place = connection_file(client, system, None)
        if place is None:
            continue
        user = system.home.name if system.drives is not None else ""
        state = ClientState(client, place.file, is_installed(place, system), windows_user=user)
        try:
            found = list(_own_entries(place, text_files.read_text_file(place.file)).values())
        except ConfigError as error:
            yield replace(state, problem=error.reason)
        else:
            yield replace(state, command=word_command(found[0]) if found else "")


def is_installed(place: ClientFile | None, system: System) -> bool:
    """True if a client seems to be installed: it has its file, or a folder for it."""
    if place is None:
        return False
    return place.file.exists() or (place.file.parent != system.home and place.file.parent.is_dir())


def owner_of(client: str, system: System, *, project: Path | None, windows_user: str) -> System:
    """Return the system whose file of a client is meant, which may be the Windows around this distribution of WSL.

    It is, if its user is named, or if the client is installed only there. Raises ConfigError.
    """
    if project is not None or (not windows_user and is_installed(connection_file(client, system, None), system)):
        return system
    windows = System.windows(windows_user)
    if windows is None or windows_user:
        return windows or system
    return windows if is_installed(connection_file(client, windows, None), windows) else system


def is_connected(client: str, system: System, project: Path) -> bool:
    """True if a client starts OneTool, by its own file or by that of the project; False if a file is broken."""
    places = (connection_file(client, system, each) for each in (None, project))
    with suppress(ConfigError):
        return any(_own_entries(place, text_files.read_text_file(place.file)) for place in places if place is not None)
    return False


def plan_connection(client: str, system: System, *, project: Path | None, arguments: list[str]) -> Connection:
    """Plan how OneTool is added; an entry that is already there stays, under whatever name. Raises ConfigError."""
    place = _find_place(client, system, project)
    original = text_files.read_text_file(place.file)
    for entry in _own_entries(place, original).values():
        command = own_command_line(entry)[0]
        if not isinstance(command, str) or not Path(command).is_absolute() or Path(command).exists():
            return Connection(original, original.text, entry)
    return Connection(original, *_added(place, original, system, arguments))


def plan_removal(client: str, system: System, *, project: Path | None) -> Connection:
    """Plan how OneTool is removed: the file is exactly as it was before, if nothing else has changed since."""
    place = _find_place(client, system, project)
    original = text_files.read_text_file(place.file)
    entries = _own_entries(place, original)
    text = original.text
    for name, entry in entries.items():
        text = text_without(original, text, (*place.keys, name), entry)
    return Connection(original, text, next(iter(entries.values()), {}))


def show_entry(client: str, system: System, *, project: Path | None, arguments: list[str]) -> tuple[Path, str]:
    """Return a client's file, and its content if there were nothing else in it."""
    place = _find_place(client, system, project)
    empty = text_files.TextFile(place.file, None, "")
    return place.file, _added(place, empty, system, arguments)[0]


def _added(
    place: ClientFile, original: text_files.TextFile, system: System, arguments: list[str]
) -> tuple[str, JsonObject]:
    """Return the text of a file with an entry by which its client starts OneTool, and that entry."""
    command, words = _own_command(shared=place.project is not None)
    words += [*(["--look"] if place.client in LOOKING else []), *arguments]
    if system.drives is not None:
        command, words = wsl.from_windows([command, *words], system.environ)
    entry = connection_entry(place.client, command, words)
    return text_files.put_entry(original, original.text, (*place.keys, NAME), entry), entry


def find_arguments(named: Path | None, places: Places, *, trusted: bool) -> tuple[list[str], str]:
    """Return the arguments that select the configuration of this folder from any other, and a note about it.

    A person's own file is found from everywhere. A project's file keeps the restrictions of a project's file, even when
    it is used from elsewhere.
    """
    if named is not None:
        return ["--config", str(named)], ""
    if places.project_folder is None or not (places.project_folder / CONFIG_FILE).exists():
        return [], ""
    if not trusted:
        return [], "This project's configuration is not used from other folders, because you have not trusted it."
    elsewhere = "`onetool import --global` imports for all projects."
    return ["--in", str(places.project)], f"It serves this project, whatever folder it is started from; {elsewhere}"


def _find_place(client: str, system: System, project: Path | None) -> ClientFile:
    place = connection_file(client, system, project)
    if place is None:
        level, fix = ("for a single project", "omit --project") if project else ("for a person", "add --project")
        raise ConfigError(f"{CLIENTS[client]} has no configuration {level}", fix=fix)
    return place


def _own_entries(place: ClientFile, original: text_files.TextFile) -> dict[str, JsonObject]:
    entries = mapping_of(text_files.follow(text_files.read_client_document(original), place.keys))
    return {name: entry for name, entry in entries.items() if isinstance(entry, dict) and is_onetool(entry)}


def word_command(entry: Mapping[str, Json]) -> str:
    """Return the command line of an entry, as a person would type it; empty if it has none."""
    command, arguments = command_line(entry)
    return shlex.join(map(str, [command, *arguments])) if command else ""


def text_without(original: text_files.TextFile, text: str, path: tuple[str, ...], entry: JsonObject) -> str:
    """Return a text without an entry of ours: to the letter that of the backup to which it was added, if there is one.

    Where there is no backup at all, the file may be ours altogether; then the text is empty.
    """
    for backup in text_files.backups_of(original.file) or [text_files.TextFile(original.file, None, "")]:
        with suppress(ConfigError):
            before = text_files.TextFile(original.file, None, backup.text)
            if (
                text_files.follow(text_files.read_client_document(before), path) is None
                and text_files.put_entry(original, before.text, path, entry) == text
            ):
                return before.text
    return text_files.remove_entry(original, text, path)


def _own_command(*, shared: bool) -> tuple[str, list[str]]:
    """Return how OneTool is started: by its full path, since a desktop program has another PATH than a terminal.

    In a file that a project shares, the path of one person is of no use to others: there it is the name alone.
    """
    found = shutil.which(NAME)
    beside = Path(sys.executable).with_name(NAME)
    if shared and found is not None:
        return NAME, ["serve"]
    if (started := _uvx_command()) is not None:  # what is beside us goes with uv's cache
        return started, [DISTRIBUTION, "serve"]
    if beside.is_file():
        return str(beside), ["serve"]
    if found is not None:
        return str(Path(found).absolute()), ["serve"]
    return sys.executable, ["-m", "onetool", "serve"]


def _uvx_command() -> str | None:
    """Return uvx, if it has started this and finds the same again by its name."""
    found = find_installation()
    if found.way is not Way.UVX or not found.from_index:
        return None
    uv = os.environ.get("UV", "")  # uvx sets it
    beside = Path(uv).with_name("uvx") if uv else None
    return str(beside) if beside is not None and beside.is_file() else shutil.which("uvx")


def show_difference(connection: Connection) -> Iterator[str]:
    """Yield the lines of a difference for a terminal; other secrets near the change are masked."""

    def mask(match: re.Match[str]) -> str:
        group = "value" if match["value"] is not None else "literal"
        shown = masked(match.groupdict().get("name") or "", match[group])
        return f"{match[0][: match.start(group) - match.start()]}{shown}{match[0][-1]}"

    file = connection.original.file
    before, after = connection.original.text.splitlines(), connection.text.splitlines()
    source = str(file) if connection.original.content is not None else "(a new file)"
    for line in difflib.unified_diff(before, after, source, str(file), lineterm="", n=2):
        yield line if line.startswith(("---", "+++", "@@")) else _TEXT.sub(mask, _PAIR.sub(mask, line))
