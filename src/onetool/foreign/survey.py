"""A survey of other clients: every server in each of their files that applies here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import Json, JsonObject
from onetool.foreign.client_documents import follow, read_client_document
from onetool.foreign.clients import ClientFile, System, client_files
from onetool.foreign.entries import TranslatedServer, UnusableEntryError, is_onetool, read_entry
from onetool.foreign.references import Translator
from onetool.foreign.text_files import TextFile, read_text_file
from ot.errors import ConfigError

MAX_SERVERS = 500


@dataclass(frozen=True, slots=True)
class ForeignServer:
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


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything that was found, in the order in which it takes precedence; and what could not be read."""

    found: tuple[ForeignServer, ...]
    broken: tuple[ConfigError, ...]
    files: tuple[Path, ...]


def survey(system: System, project: Path, *, only: Sequence[str] = ()) -> Survey:
    """Read the files of all clients, or of some; one that is broken is reported and harms no other."""
    found: list[ForeignServer] = []
    broken: list[ConfigError] = []
    files: list[Path] = []
    for source in client_files(system, project):
        if only and source.client not in only:
            continue
        try:
            read = read_text_file(source.file)
            if read.content is None:
                continue
            servers = list(_read(source, read, system, project))
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
        if servers is None:
            continue
        if not isinstance(servers, dict):
            raise ConfigError("does not hold an object", file=source.file, key=".".join(keys), fix="it was left out")
        inputs = _inputs(follow(document, (*keys[:-1], "inputs")))
        for name, entry in list(servers.items())[:MAX_SERVERS]:
            translator = Translator(system.environ, system.home, project, inputs, source.references)
            yield _find(name, entry, source, (*keys, name), translator)


def _find(name: str, entry: Json, source: ClientFile, path: tuple[str, ...], translator: Translator) -> ForeignServer:
    if is_onetool(entry):
        return ForeignServer(name, source, path, entry, reason="this is OneTool itself")
    try:
        read = read_entry(entry, translator, folder=source.project)
    except UnusableEntryError as error:
        return ForeignServer(name, source, path, entry, reason=str(error))
    return ForeignServer(name, source, path, entry, read, wanted=translator.wanted, unknown=tuple(translator.unknown))


def _as_written(document: JsonObject, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return keys with a project's folder as the client has written it, which may be another path to it."""
    projects = document.get("projects")
    if keys[0] != "projects" or not isinstance(projects, dict) or keys[1] in projects:
        return keys
    wanted = os.path.realpath(keys[1])
    return ("projects", next((path for path in projects if os.path.realpath(path) == wanted), keys[1]), *keys[2:])


def _inputs(value: Json) -> dict[str, str]:
    """Return what the client asks a person for: ids, and the prompt for each."""
    items = value if isinstance(value, list) else []
    return {
        str(item["id"]): str(item.get("description", "")) for item in items if isinstance(item, dict) and "id" in item
    }
