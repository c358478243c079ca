"""Files of other programs and of the person: read as text, or as JSON and TOML; backed up, and replaced whole."""

from __future__ import annotations

import glob
import itertools
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from mcp_core.atomic_write import write_file
from mcp_core.json_types import Json, JsonObject, mapping_of
from onetool.foreign import table_edit
from onetool.foreign.json_edit import JsoncError, parse_jsonc, put_member, remove_member
from onetool.foreign.table_edit import TomlEditError, add_entries, put_table, read_toml, remove_table
from ot.config.yaml_reader import read_yaml
from ot.errors import ConfigError

MAX_BYTES = 20_000_000
MOST_BACKUPS = 20  # that are looked at
_MARK = "\ufeff"


class TextFile(NamedTuple):
    """A file as it was read; `content` is None where there was none. `text` is without a byte order mark."""

    file: Path
    content: bytes | None
    text: str

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"


def read_text_file(file: Path) -> TextFile:
    """Read a file, which need not be there; raises ConfigError where it cannot be read as text."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return TextFile(file, None, "")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigError("is not a regular file", file=file)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from error
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES:,} bytes", file=file)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", file=file) from None
    return TextFile(file, content, text.removeprefix(_MARK))


def replace_text_file(original: TextFile, text: str, *, private: bool = False, keep_old: bool = True) -> Path | None:
    """Replace the text of a file that was read; returns the backup beside it.

    A reader finds all of the old text or all of the new, even after a crash. A link stays a link, and the permissions
    stay the same. Raises ConfigError, and changes nothing, if another program has changed the file since it was read.
    """
    file = Path(os.path.realpath(original.file))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if read_text_file(file).content != original.content:
            raise ConfigError("was changed by another program in the meantime; nothing was written", file=original.file)
        old = original.content
        mode = stat.S_IMODE(file.stat().st_mode) if old is not None else None
        backup, moment = None, datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        if old is not None and keep_old:
            for number in itertools.count():
                backup = file.with_name(f"{file.name}.{moment}{f'-{number}' if number else ''}.bak")
                with suppress(FileExistsError):
                    write_file(backup, old, replace=False, mode=mode)
                    break
        begins = _MARK if old is not None and old.startswith(_MARK.encode()) else ""
        write_file(file, (begins + text).encode(), mode=0o600 if private else mode)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=original.file) from error
    return backup


def backups_of(file: Path) -> list[TextFile]:
    """Return the backups of a file, the latest first; one that cannot be read is left out."""
    file = Path(os.path.realpath(file))
    found = []
    for backup in sorted(file.parent.glob(f"{glob.escape(file.name)}.*.bak"), reverse=True)[:MOST_BACKUPS]:
        with suppress(ConfigError):
            found.append(read_text_file(backup))
    return found


def read_client_document(original: TextFile) -> JsonObject:
    """Return the content of a file, an empty object if it is empty; raises ConfigError."""
    with _mistakes_named(original.file):
        if original.file.suffix == ".toml":
            return read_toml(original.text)
        if original.file.suffix == ".yaml":
            return _read_yaml(original)
        node = parse_jsonc(original.text)
    document: Json = node.value if node is not None else {}
    if not isinstance(document, dict):
        raise ConfigError("does not hold an object", file=original.file, fix="it was left out")
    return document


def put_entry(original: TextFile, text: str, path: Sequence[str], entry: JsonObject) -> str:
    with _mistakes_named(original.file):
        if original.file.suffix == ".yaml":
            section, name = path
            kept = remove_entry(original, text, path) if name in mapping_of(_read_yaml(original).get(section)) else text
            return add_entries(kept, section, {name: entry}, file=original.file, newline=original.newline)
        put = put_table if original.file.suffix == ".toml" else put_member
        return put(text, path, entry, newline=original.newline)


def remove_entry(original: TextFile, text: str, path: Sequence[str]) -> str:
    with _mistakes_named(original.file):
        if original.file.suffix == ".yaml":
            return table_edit.remove_entry(text, *path, file=original.file)
        return (remove_table if original.file.suffix == ".toml" else remove_member)(text, path)


def _read_yaml(original: TextFile) -> JsonObject:
    """Return the content of a YAML file, whose dates and the like are texts for us; raises ConfigError."""
    read = read_yaml(original.text, file=original.file, private=False)
    if read is not None and not isinstance(read, dict):
        raise ConfigError("does not hold a mapping", file=original.file, fix="it was left out")
    found: JsonObject = json.loads(json.dumps(read or {}, default=str, skipkeys=True))
    return found


def follow(document: Json, path: Sequence[str]) -> Json:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


@contextmanager
def _mistakes_named(file: Path) -> Iterator[None]:
    try:
        yield
    except JsoncError as error:
        raise ConfigError(f"is not valid JSON: {error}", file=file, fix="it was left as it is") from None
    except TomlEditError as error:
        raise ConfigError(f"is not valid TOML: {error}", file=file, fix="it was left as it is") from None
