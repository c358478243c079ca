"""Imported servers removed from their client's file, and put back: each file has a backup, and we keep a record.

The record is written first. Whatever happens between the two writes, the entries, which may contain secrets, are in
the record, in the backup beside the file, or still in the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, Field, JsonValue, TypeAdapter, ValidationError

from mcp_core.atomic_write import open_folder, write_private
from mcp_core.file_lock import lock
from mcp_core.json_types import JsonObject, mapping_of
from mcp_core.private_files import make_private
from onetool.foreign import text_files
from onetool.foreign.clients import ForeignServer
from onetool.foreign.connecting import text_without
from onetool.foreign.entries import is_onetool
from onetool.foreign.text_files import TextFile
from ot.errors import ConfigError

RECORD_FILE = "taken_out.json"


class TakenEntry(BaseModel, extra="forbid", frozen=True):
    path: tuple[str, ...] = Field(min_length=1)
    value: dict[str, JsonValue]


class TakenOut(BaseModel, extra="forbid", frozen=True):
    """The entries that were removed from one file at one time, and the backup of that file."""

    client: str
    file: Path
    backup: Path | None
    entries: tuple[TakenEntry, ...] = Field(min_length=1)

    @property
    def names(self) -> list[str]:
        return [entry.path[-1] for entry in self.entries]


_RECORDS = TypeAdapter(list[TakenOut])


class Removal(NamedTuple):
    original: TextFile
    text: str
    taken: TakenOut
    shared: bool  # with others who work on the project


class Restored(NamedTuple):
    """The result of undoing one removal; `kept` are entries that someone has written again in the meantime."""

    taken: TakenOut
    kept: tuple[str, ...]
    written: bool
    exact: bool  # as if nothing had been taken out


def plan_removals(found: Iterable[ForeignServer]) -> Iterator[Removal | ConfigError]:
    """Plan for each file how servers are taken out of it, or say why it cannot be edited."""
    removable = (each for each in found if each.source.plugin is None)  # Claude Code itself removes a plugin
    for file, group in groupby(removable, key=lambda each: each.source.file):
        servers = list(group)
        source = servers[0].source
        try:
            original = text_files.read_text_file(file)
            document = text_files.read_client_document(original)
            if any(text_files.follow(document, each.path) != each.written for each in servers):
                reason = "was changed by another program in the meantime; nothing was removed from it"
                raise ConfigError(reason, file=file)
            entries = tuple(
                TakenEntry(path=each.path, value=each.written) for each in servers if isinstance(each.written, dict)
            )
            taken = TakenOut(client=source.client, file=file, backup=None, entries=entries)
            yield Removal(original, _without(original, original.text, taken), taken, source.project is not None)
        except ConfigError as error:
            yield error


def take_out(removal: Removal, state: Path) -> Path | None:
    """Write a file without its servers; returns the copy of the old one. Raises ConfigError, with all as it was."""
    with _locked(state):
        before = _read(state)
        _write(state, [*before, removal.taken])
        try:
            backup = text_files.replace_text_file(removal.original, removal.text)
        except ConfigError:
            _write(state, before)
            raise
        _write(state, [*before, removal.taken.model_copy(update={"backup": backup})])
    return backup


def put_back(state: Path, *, only: Iterable[str] = (), dry_run: bool = False) -> Iterator[Restored | ConfigError]:
    """Put back what was taken out, the latest first; a file that cannot be written stays on the record."""
    clients = list(only)
    for taken in reversed(_read(state)):
        if clients and taken.client not in clients:
            continue
        try:
            restored = _restore(taken, dry_run=dry_run)
        except ConfigError as error:
            yield error
            continue
        if not dry_run:
            with _locked(state):
                _write(state, [each for each in _read(state) if each != taken])
        yield restored


def _restore(taken: TakenOut, *, dry_run: bool) -> Restored:
    current = text_files.read_text_file(taken.file)
    document = text_files.read_client_document(current)
    there = {entry.path for entry in taken.entries if text_files.follow(document, entry.path) is not None}
    kept = tuple(
        entry.path[-1] for entry in taken.entries if text_files.follow(document, entry.path) not in (None, entry.value)
    )
    exact = None
    with suppress(ConfigError):  # a copy that cannot be used: the entries are on the record as well
        exact = _text_before(current, document, taken)
    text = exact if exact is not None else current.text
    for entry in taken.entries if exact is None else ():
        if entry.path not in there:
            text = text_files.put_entry(current, text, entry.path, entry.value)
    written = text != current.text
    if written and not dry_run:
        text_files.replace_text_file(current, text)
    return Restored(taken, kept, written, exact is not None)


def _text_before(current: TextFile, document: JsonObject, taken: TakenOut) -> str | None:
    """Return the text as it was, if nothing but OneTool was added or removed since; None if more has changed."""
    if taken.backup is None or not taken.backup.exists():
        return None
    before = text_files.read_text_file(taken.backup).text
    after = _without(current, before, taken)
    keys = taken.entries[0].path[:-1]
    for name, entry in mapping_of(text_files.follow(document, keys)).items():
        known = text_files.follow(text_files.read_client_document(TextFile(current.file, None, after)), (*keys, name))
        if isinstance(entry, dict) and is_onetool(entry) and known is None:
            before, after = (text_files.put_entry(current, text, (*keys, name), entry) for text in (before, after))
    for name, entry in mapping_of(
        text_files.follow(text_files.read_client_document(TextFile(current.file, None, after)), keys)
    ).items():
        if isinstance(entry, dict) and is_onetool(entry) and text_files.follow(document, (*keys, name)) is None:
            before, after = (text_without(current, text, (*keys, name), entry) for text in (before, after))
    return before if after == current.text else None


def _without(original: TextFile, text: str, taken: TakenOut) -> str:
    for entry in taken.entries:
        text = text_files.remove_entry(original, text, entry.path)
    return text


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    """Hold the record for oneself: two commands may take something out at the same time."""
    make_private(state)
    with open_folder(state) as folder:
        lock(folder)
        yield


def _read(state: Path) -> list[TakenOut]:
    original = text_files.read_text_file(state / RECORD_FILE)
    if not original.text:
        return []
    try:
        return _RECORDS.validate_json(original.text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]["msg"]
        fix = "remove it; the copies stay"
        raise ConfigError(f"cannot be understood: {first}", file=original.file, fix=fix) from None


def _write(state: Path, records: list[TakenOut]) -> None:
    try:
        write_private(state / RECORD_FILE, json.dumps(_RECORDS.dump_python(records, mode="json"), indent=1) + "\n")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=state / RECORD_FILE) from error
