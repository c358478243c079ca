"""The versions that a project's own lock files name."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator

from mcp_core.json_types import Json
from ot.errors import CallError
from ot.files.allowed_files import AllowedFiles
from ot_packs.net.values import items_of, part_of, text_of

_LARGEST = 5_000_000  # bytes; a larger file is left alone
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*([^\s;#\\]+)", re.MULTILINE)

Versions = Iterator[tuple[str, str]]


def read_locked_versions(files: AllowedFiles) -> dict[str, str]:
    """Return the packages of the project's lock files with their versions; blocking.

    The first file that names a package decides. A file that cannot be read counts as empty.
    """
    found: dict[str, str] = {}
    for name, read in _READERS.items():
        for package, version in _read(files, name, read):
            found.setdefault(plain_name(package), version)
    return found


def plain_name(package: str) -> str:
    """Return a name as it is compared: `Pydantic_Core` and `pydantic-core` are one package."""
    return re.sub(r"[-_.]+", "-", package).lower()


def _read(files: AllowedFiles, name: str, read: Callable[[str], Versions]) -> list[tuple[str, str]]:
    try:
        with os.fdopen(files.open(name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
                return []
            text = file.read(_LARGEST).decode("utf-8", "replace")
        return list(read(text))
    except (CallError, OSError, ValueError, RecursionError):
        return []


def _from_toml(text: str) -> Versions:
    tables: dict[str, Json] = tomllib.loads(text)
    for package in (*items_of(tables, "package"), *items_of(tables, "packages")):
        yield text_of(package, "name"), text_of(package, "version")


def _from_package_lock(text: str) -> Versions:
    packages = part_of(json.loads(text), "packages")
    for place, facts in packages.items() if isinstance(packages, dict) else ():
        if place.startswith("node_modules/") and place.count("node_modules/") == 1:
            yield place.removeprefix("node_modules/"), text_of(facts, "version")


def _from_pipfile_lock(text: str) -> Versions:
    packages = part_of(json.loads(text), "default")
    for name, facts in packages.items() if isinstance(packages, dict) else ():
        yield name, text_of(facts, "version").removeprefix("==")


def _from_requirements(text: str) -> Versions:
    for pin in _PIN.finditer(text):
        yield pin[1], pin[2]


_READERS: dict[str, Callable[[str], Versions]] = {
    "uv.lock": _from_toml,
    "poetry.lock": _from_toml,
    "pdm.lock": _from_toml,
    "pylock.toml": _from_toml,
    "Pipfile.lock": _from_pipfile_lock,
    "requirements.txt": _from_requirements,
    "requirements-dev.txt": _from_requirements,
    "package-lock.json": _from_package_lock,
    "Cargo.lock": _from_toml,
}
