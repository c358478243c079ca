"""Lock files of several package managers, each read into the versions that it names; in helper processes too."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from mcp_core.json_types import Json
from ot.errors import CallError
from ot_packs.net.values import items_of, part_of, text_of

if TYPE_CHECKING:
    from ot.files.allowed_files import AllowedFiles

_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]\n]*\])?[ \t]*===?[ \t]*([^\s;#\\]+)", re.MULTILINE)
_PNPM_KEY = re.compile(r"/?((?:@[^/@]+/)?[^/@]+)[@/](\d[^(_]*)")  # also /name/version_peer, as old files have it
_BY_HAND = {"vcs", "directory", "archive"}  # keys of a package that a pylock.toml has from no registry
_KINDS = ("dependencies", "devDependencies", "optionalDependencies")
_LARGEST = 5_000_000  # bytes; a larger file is left alone


class Locked(NamedTuple):
    name: str
    version: str
    source: str = ""  # the registry, or the file in it, that it came from
    ranges: tuple[str, ...] = ()  # what was asked for, if the file says so
    elsewhere: bool = False  # it comes from a folder or a repository of code


def _from_toml(text: str) -> Iterator[Locked]:
    if any(len(line) > 5_000 for line in text.splitlines()):  # characters of a line
        raise ValueError("a line is too long")  # a key of many parts takes the parser the square of its length
    tables: dict[str, Json] = tomllib.loads(text)
    for package in (*items_of(tables, "package"), *items_of(tables, "packages")):
        place = package.get("source")  # a table, or in Cargo.lock an address
        legacy = text_of(place, "url") if text_of(place, "type") in ("", "legacy") else ""  # as Poetry calls a registry
        source = text_of(place, "registry") or legacy or text_of(package, "index")
        fetched = isinstance(place, dict) or not _BY_HAND.isdisjoint(package)
        elsewhere = fetched and not source.startswith(("http://", "https://"))
        yield Locked(text_of(package, "name"), text_of(package, "version"), source, elsewhere=elsewhere)


def _from_package_lock(text: str) -> Iterator[Locked]:
    lock: Json = json.loads(text)
    packages = part_of(lock, "packages")
    if not isinstance(packages, dict):  # as npm wrote it up to version 6
        old = part_of(lock, "dependencies")
        packages = {f"node_modules/{name}": facts for name, facts in old.items()} if isinstance(old, dict) else {}
    for place, facts in packages.items():
        if place.startswith("node_modules/") and place.count("node_modules/") == 1:
            name = text_of(facts, "name") or place.removeprefix("node_modules/")
            source = text_of(facts, "resolved")
            elsewhere = part_of(facts, "link") is True or source.startswith(("git", "file:"))
            yield Locked(name, text_of(facts, "version"), source, elsewhere=elsewhere)


def _from_pipfile_lock(text: str) -> Iterator[Locked]:
    packages = part_of(json.loads(text), "default")
    for name, facts in packages.items() if isinstance(packages, dict) else ():
        yield Locked(name, text_of(facts, "version").removeprefix("=="))


def _from_requirements(text: str) -> Iterator[Locked]:
    for pin in _PIN.finditer(text):
        yield Locked(pin[1], pin[2])


def _from_yarn(text: str) -> Iterator[Locked]:
    """Read both forms: the one of Yarn 1, and the one that later versions write, which is YAML."""
    wanted: list[tuple[str, str]] = []
    version = source = ""
    for line in (*text.splitlines(), "end:"):
        if line[:1] not in (" ", "#", ""):
            for name in dict.fromkeys(name for name, _ in wanted) if version else ():
                yield Locked(name, version, source, tuple(asked for other, asked in wanted if other == name))
            wanted = [_descriptor(each) for each in line.rstrip(":").replace('"', "").split(", ") if "@" in each]
            version = source = ""
        elif (found := re.fullmatch(r"  (version|resolved):? \"?([^\"]+)\"?", line)) is not None:
            version, source = (found[2], source) if found[1] == "version" else (version, found[2])


def _descriptor(text: str) -> tuple[str, str]:
    """Split `name@range`; of `alias@npm:name@range`, the package that is meant."""
    name, asked = _halves(text)
    asked = asked.removeprefix("npm:")
    return _halves(asked) if "@" in asked[1:] else (name, asked)


def _halves(text: str) -> tuple[str, str]:
    """Split at the first `@` that does not begin a scope."""
    before, _, after = text[1:].partition("@")
    return text[:1] + before, after


def _from_pnpm(text: str) -> Iterator[Locked]:
    """Read what the project itself asks for first, and then everything else."""
    asked: dict[str, str] = {}
    others: list[Locked] = []
    for path, value in _indented(text):
        own = path[2:] if path[:2] == ("importers", ".") and len(path) > 2 else path
        if own[0] == "specifiers" and len(own) == 2:
            asked[own[1]] = value
        if own[0] in _KINDS and len(own) == 3 and own[2] == "specifier":
            asked[own[1]] = value
        elif own[0] in _KINDS and (len(own) == 2 or own[2:] == ("version",)) and value[:1].isdigit():
            yield Locked(own[1], re.split(r"[(_]", value)[0], "", (asked.get(own[1], ""),))
        elif path[0] == "packages" and len(path) == 2 and (found := _PNPM_KEY.match(path[1])) is not None:
            others.append(Locked(found[1], found[2]))
    yield from others


def _indented(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the keys of a machine-written YAML file with those around them, and the values beside them."""
    around: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = re.fullmatch(r"( *)('[^']+'|\"[^\"]+\"|[^\s'\"#{-][^\s:]*(?::[^\s:]+)*):(?: (.*))?", line)
        if found is None:
            continue
        while around and around[-1][0] >= len(found[1]):
            around.pop()
        around.append((len(found[1]), found[2].strip("'\"")))
        yield tuple(key for _, key in around), (found[3] or "").strip("'\"")


def _from_go(text: str) -> Iterator[Locked]:
    """Read the modules of a go.mod, which names exact versions; also by the last part of their paths."""
    block = ""
    for line in text.splitlines():
        words = line.partition("//")[0].split()
        if words[1:] == ["("] or words == [")"]:
            block = words[0] if words[0] != ")" else ""
            continue
        sentence = [block, *words] if block else words
        if sentence[:1] == ["require"] and len(sentence) == 3 and sentence[2].startswith("v"):
            module, version = sentence[1], sentence[2][1:]
            yield Locked(module, version)
            yield Locked(re.sub(r"(?:/v\d+|\.v\d+)$", "", module).rpartition("/")[2], version)


READERS: dict[str, Callable[[str], Iterator[Locked]]] = {
    "uv.lock": _from_toml,
    "poetry.lock": _from_toml,
    "pdm.lock": _from_toml,
    "pylock.toml": _from_toml,
    "Pipfile.lock": _from_pipfile_lock,
    "requirements.txt": _from_requirements,
    "requirements-dev.txt": _from_requirements,
    "package-lock.json": _from_package_lock,
    "npm-shrinkwrap.json": _from_package_lock,
    "yarn.lock": _from_yarn,
    "pnpm-lock.yaml": _from_pnpm,
    "Cargo.lock": _from_toml,
    "go.mod": _from_go,
}
"""By the name of the file; each raises ValueError or RecursionError for a text that makes no sense."""


def read_locked_versions(files: AllowedFiles) -> dict[str, str]:
    """Return the packages of the project's lock files with their versions; blocking."""
    # The first file that names a package decides. A file that cannot be read counts as empty.
    found: dict[str, str] = {}
    for name, read in READERS.items():
        try:
            packages = list(read(read_project_file(files, name)))
        except (ValueError, RecursionError):
            continue
        for package in packages:
            found.setdefault(plain_name(package.name), package.version)
    return found


def plain_name(package: str) -> str:
    """Return a name as it is compared: `Pydantic_Core` and `pydantic-core` are one package."""
    return re.sub(r"[-_.]+", "-", package).lower()


def read_project_file(files: AllowedFiles, path: str) -> str:
    """Return the text of a file; "" if there is none, or it is not for tools, or too large. Blocking."""
    try:
        with os.fdopen(files.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST:
                return ""
            return file.read(_LARGEST).decode("utf-8", "replace")
    except (CallError, OSError):
        return ""
