"""The document in a client's file, JSON or TOML by its suffix: read, and edited without changing anything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_core.json_types import Json, JsonObject
from onetool.foreign.json_edit import put_member, remove_member
from onetool.foreign.jsonc import JsoncError, parse_jsonc
from onetool.foreign.text_files import TextFile
from onetool.foreign.toml_edit import TomlEditError, put_table, read_toml, remove_table
from ot.errors import ConfigError


def read_client_document(original: TextFile) -> JsonObject:
    """Return the content of a file, an empty object if it is empty; raises ConfigError."""
    with _mistakes_named(original.file):
        if _is_toml(original.file):
            return read_toml(original.text)
        node = parse_jsonc(original.text)
    document: Json = node.value if node is not None else {}
    if not isinstance(document, dict):
        raise ConfigError("does not hold an object", file=original.file, fix="it was left out")
    return document


def put_entry(original: TextFile, text: str, path: Sequence[str], entry: JsonObject) -> str:
    """Return the text of a file with an entry at a path; raises ConfigError."""
    with _mistakes_named(original.file):
        put = put_table if _is_toml(original.file) else put_member
        return put(text, path, entry, newline=original.newline)


def remove_entry(original: TextFile, text: str, path: Sequence[str]) -> str:
    """Return the text of a file without the entry at a path; raises ConfigError."""
    with _mistakes_named(original.file):
        return (remove_table if _is_toml(original.file) else remove_member)(text, path)


def follow(document: Json, path: Sequence[str]) -> Json:
    """Return the value at a path, None if there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


@contextmanager
def _mistakes_named(file: Path) -> Iterator[None]:
    try:
        yield
    except JsoncError as error:
        raise ConfigError(f"is not valid JSON: {error}", file=file, fix="it was left as it is") from None
    except TomlEditError as error:
        raise ConfigError(f"is not valid TOML: {error}", file=file, fix="it was left as it is") from None
