"""The form of a file in the state folder: a file names its form, and what another version wrote is never guessed at.

A form's number rises when an older OneTool would misread the file. A file of another form counts as
absent, and that is reported; one that a newer OneTool wrote is not overwritten either, unless it could be made again or
is forgotten within a day. Databases are brought to their newest form instead (`ot.store.databases`).
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mcp_core.json_types import Json, JsonObject

Record = TypeVar("Record")

FORM = "form"  # the key of a file, or of its first line, that names its form
_KINDS = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
"""The types that fields of records in files have, by their annotation."""


class UnknownFormError(ValueError):
    """A file has a form that is not read here; its text says who wrote it."""


def check_form(found: Json, known: int, *, unnamed: int | None = None) -> JsonObject:
    """Return the facts of a file in the known form; `unnamed` is that of files without one. Raises UnknownFormError."""
    if not isinstance(found, dict):
        raise UnknownFormError("it has an unknown format")
    form = found.get(FORM, unnamed)
    if form == known:
        return found
    if not isinstance(form, int):
        raise UnknownFormError("it has an unknown format")
    who = "a newer" if form > known else "an older"
    raise UnknownFormError(f"{who} OneTool wrote it (form {form}, this one knows {known})")


def keep_newer(document: bytes | None, known: int) -> None:
    """Raise OSError for a document that a newer OneTool wrote: it is not overwritten. What makes no sense may be."""
    try:
        found = json.loads(document or b"{}")
    except (ValueError, RecursionError):
        return
    form = found.get(FORM) if isinstance(found, dict) else None
    if isinstance(form, int) and form > known:
        raise OSError(
            errno.EPERM, f"a newer OneTool wrote it (form {form}, this one knows {known}); it is left as it is"
        )


def keep_newer_file(file: Path, known: int) -> None:
    """The same for a file, which need not be there."""
    with suppress(FileNotFoundError):
        keep_newer(file.read_bytes(), known)


def read_record(make: Callable[..., Record], fields: Mapping[str, Json]) -> Record:
    """Make a dataclass from the fields that a file gives, whose types are checked; raises TypeError."""
    kinds: Mapping[str, str] = getattr(make, "__annotations__", {})
    for name, value in fields.items():
        if kinds.get(name) in _KINDS and not isinstance(value, _KINDS[kinds[name]]):
            raise TypeError(f"{name} is not of type {kinds[name]}")
    return make(**fields)


def read_mapping(found: Json) -> JsonObject:
    """Return an object that a file holds; raises TypeError for anything else."""
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def read_list(found: Json) -> list[Json]:
    """Return an array that a file holds; raises TypeError for anything else."""
    if not isinstance(found, list):
        raise TypeError("not an array")
    return found


def read_number(found: Json) -> float:
    """Return a number that a file holds; raises TypeError for anything else."""
    if not isinstance(found, int | float):
        raise TypeError("not a number")
    return found
