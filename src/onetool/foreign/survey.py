"""A survey of other clients: every server in each of their files that applies here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_core.json_types import Json
from onetool.foreign.clients import ClientFile, System, client_files
from onetool.foreign.entries import Entry, UnusableEntryError, is_onetool, read_entry
from onetool.foreign.jsonc import JsoncError, parse_jsonc
from onetool.foreign.references import Translator
from onetool.foreign.text_files import read_text_file
from ot.errors import ConfigError

MAX_SERVERS = 500


@dataclass(frozen=True, slots=True)
class Found:
    """One server in one file; without an entry it cannot be taken, and `reason` says why.

    `wanted` are variables that it needs and nobody has set, with the words in which its client asks for them.
    """

    name: str
    source: ClientFile
    entry: Entry | None = None
    reason: str = ""
    wanted: Mapping[str, str] | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything that was found, in the order in which it takes precedence; and what could not be read."""

    found: tuple[Found, ...]
    broken: tuple[ConfigError, ...]
    files: tuple[Path, ...]


def survey(system: System, project: Path, *, only: Sequence[str] = ()) -> Survey:
    """Read the files of all clients, or of some; one that is broken is reported and harms no other."""
    found: list[Found] = []
    broken: list[ConfigError] = []
    files: list[Path] = []
    for source in client_files(system, project):
        if only and source.client not in only:
            continue
        try:
            read = read_text_file(source.file)
            if read.content is None:
                continue
            servers = list(_read(source, read.text, system, project))
        except ConfigError as error:
            broken.append(error)
            continue
        if servers or not source.file.name.startswith("settings"):
            files.append(source.file)
        found += servers
    return Survey(tuple(found), tuple(broken), tuple(files))


def _read(source: ClientFile, text: str, system: System, project: Path) -> Iterator[Found]:
    try:
        node = parse_jsonc(text)
    except JsoncError as error:
        raise ConfigError(f"is not valid JSON: {error}", file=source.file, fix="it was left out") from None
    document = node.value if node is not None else {}
    if not isinstance(document, dict):
        raise ConfigError("does not hold an object", file=source.file, fix="it was left out")
    for keys in (source.keys, *source.more_keys):
        servers = _follow(document, keys)
        if servers is None:
            continue
        if not isinstance(servers, dict):
            raise ConfigError("does not hold an object", file=source.file, key=".".join(keys), fix="it was left out")
        inputs = _inputs(_follow(document, (*keys[:-1], "inputs")))
        for name, entry in list(servers.items())[:MAX_SERVERS]:
            yield _find(name, entry, source, inputs, system, project)


def _find(
    name: str, entry: object, source: ClientFile, inputs: Mapping[str, str], system: System, project: Path
) -> Found:
    if is_onetool(entry):
        return Found(name, source, reason="this is OneTool itself")
    translator = Translator(system.environ, system.home, project, inputs)
    try:
        read = read_entry(entry, translator, folder=source.project)
    except UnusableEntryError as error:
        return Found(name, source, reason=str(error))
    return Found(name, source, read, wanted=translator.wanted, unknown=tuple(translator.unknown))


def _follow(document: object, keys: Sequence[str]) -> Json:
    for number, key in enumerate(keys):
        if not isinstance(document, dict):
            return None
        if key not in document and number and keys[number - 1] == "projects":
            document = _project_of(document, key)
        else:
            document = document.get(key)
    return document


def _project_of(projects: Mapping[str, Json], folder: str) -> Json:
    """Return the part of a client's file about a project, which stands under its path, however that is written."""
    wanted = os.path.realpath(folder)
    return next((item for path, item in projects.items() if os.path.realpath(path) == wanted), None)


def _inputs(value: object) -> dict[str, str]:
    """Return what the client asks a person for: ids, and the words that it asks with."""
    items = value if isinstance(value, list) else []
    return {
        str(item["id"]): str(item.get("description", "")) for item in items if isinstance(item, dict) and "id" in item
    }
