"""The packages that a project's own files name: manifests, locks, and the sources of packages.

Runs in a helper process, which has the library `packaging`: the files are a stranger's.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from mcp_core.json_types import Json, JsonObject
from ot_packs.locks import READERS, Locked
from ot_packs.net.values import items_of, part_of, text_of, texts_of
from ot_packs.package.registries import is_public, plain_address
from ot_packs.package.releases import Declared, Used
from ot_packs.package.settings import read_npmrc

ELSEWHERE = "it does not come from a registry"
NPM_LOCKS = ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml")
PYTHON_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_GROUPS = {"dependencies": "", "devDependencies": "dev", "optionalDependencies": "optional", "peerDependencies": "peer"}
_ELSEWHERE = re.compile(
    r"(?:file|link|workspace|portal|patch|git[\w+]*|github|gitlab|bitbucket|https?):|^[\w.-]+/[\w.-]+(?:#|$)"
)


def read_project(*, files: dict[str, str], indirect: bool) -> Used:
    """Read the files of a folder, by their names; what only a lock names is left out, unless `indirect`."""
    problems: list[str] = []
    packages: list[Declared] = []
    for name, text in files.items():
        try:
            packages += _read_manifest(name, text)
        except (ValueError, RecursionError) as error:
            problems.append(f"{name} cannot be read: {str(error)[:200]}")
    python = _read_locks(PYTHON_LOCKS, files, problems)
    npm = _read_locks(NPM_LOCKS, files, problems)
    locks: dict[str, dict[str, Locked]] = {
        "pypi": {str(canonicalize_name(each.name)): each for each in python},
        "npm": {each.name: each for each in npm},
    }
    sources = Sources(files)
    for package in packages:
        _complete(package, locks[package["kind"]], npm, sources)
    if indirect:
        packages += _not_declared(locks, packages, sources)
    return {"packages": packages, "problems": problems}


class Sources:
    """Where a project says that its packages come from. A stranger's word: it only decides whom we do not ask."""

    def __init__(self, files: Mapping[str, str]) -> None:
        pyproject, uv = (_toml(files.get(name, "")) for name in ("pyproject.toml", "uv.toml"))
        indexes = [*items_of(pyproject, "tool", "uv", "index"), *items_of(uv, "index")]
        self._indexes = {text_of(each, "name"): text_of(each, "url") for each in indexes}
        self._chosen = part_of(pyproject, "tool", "uv", "sources")
        poetry = items_of(pyproject, "tool", "poetry", "source")
        self._indexes |= {text_of(each, "name"): text_of(each, "url") for each in poetry}
        defaults = [text_of(each, "url") for each in indexes if each.get("default") is True]
        primary = [text_of(each, "url") for each in poetry if text_of(each, "priority") in ("", "primary", "default")]
        self._default = next(filter(None, [*defaults, text_of(uv, "index-url"), *primary]), "")
        self._npm = {key: setting.value for key, setting in read_npmrc(files.get(".npmrc", ""), "", {}).items()}

    def of(self, kind: str, name: str, locked: Locked | None, named: str) -> tuple[str, str]:
        """Return the address that a package comes from, if it is not the public one, and what is odd about it."""
        if locked is not None and locked.elsewhere:
            return "", ELSEWHERE
        if kind == "npm":
            address = self._npm.get(f"{name.partition('/')[0]}:registry") or self._npm.get("registry", "")
        else:
            chosen = part_of(self._chosen, name)
            if isinstance(chosen, dict) and not text_of(chosen, "index"):
                return "", ELSEWHERE
            own = named if "://" in named else ""
            address = self._indexes.get(text_of(chosen, "index") or named, own) or self._default
        address = plain_address(locked.source) if locked is not None and locked.source else plain_address(address)
        return ("" if is_public(kind, address) else address), ""


def _complete(package: Declared, locks: Mapping[str, Locked], npm: list[Locked], sources: Sources) -> None:
    locked = locks.get(package["name"])
    if package["kind"] == "npm":
        exact = [each for each in npm if each.name == package["name"] and package["asked"] in each.ranges]
        locked = exact[0] if exact else locked
    pinned = re.fullmatch(r"={2,3}\s*([^,*]+)", package["asked"])
    package["current"] = locked.version if locked else pinned[1].strip() if pinned else ""
    address, problem = sources.of(package["kind"], package["name"], locked, package["registry"])
    package["registry"] = address
    package["problem"] = package["problem"] or problem


def _not_declared(
    locks: Mapping[str, Mapping[str, Locked]], packages: list[Declared], sources: Sources
) -> Iterator[Declared]:
    known = {(each["kind"], each["name"]) for each in packages}
    for kind, found in locks.items():
        for name, locked in found.items():
            if (kind, name) not in known and locked.version:
                address, problem = sources.of(kind, name, locked, "")
                own = _declared(kind, name, "", "indirect", "", registry=address, problem=problem)
                yield own | {"current": locked.version}


def _read_manifest(name: str, text: str) -> list[Declared]:
    if name == "package.json":
        return list(_from_package_json(json.loads(text)))
    if name == "pyproject.toml":
        return list(_from_pyproject(tomllib.loads(text)))
    return list(_from_requirements(name, text)) if name.endswith(".txt") else []


def _read_locks(names: tuple[str, ...], files: Mapping[str, str], problems: list[str]) -> list[Locked]:
    found: list[Locked] = []
    for name in names:
        if name not in files:
            continue
        try:
            found += READERS[name](files[name])
        except (ValueError, RecursionError) as error:
            problems.append(f"{name} cannot be read: {str(error)[:200]}")
    found.reverse()  # the first that names a package decides, where a table keeps the last
    return found


def _declared(
    kind: str, name: str, asked: str, group: str, file: str, *, registry: str = "", problem: str = ""
) -> Declared:
    about = Declared(kind=kind, name=name, asked=asked, group=group, file=file, current="", registry="", problem="")
    return about | {"registry": registry, "problem": problem}


def _from_package_json(manifest: Json) -> Iterator[Declared]:
    for key, group in _GROUPS.items():
        asked = part_of(manifest, key)
        for name, text in asked.items() if isinstance(asked, dict) else ():
            if not isinstance(text, str):
                continue
            alias = re.fullmatch(r"npm:(@?[^@]+)(?:@(.*))?", text)
            plain, wanted = (alias[1], alias[2] or "*") if alias else (name, text)
            problem = ELSEWHERE if _ELSEWHERE.match(wanted) else ""
            yield _declared("npm", plain, wanted, group, "package.json", problem=problem)


def _from_pyproject(manifest: JsonObject) -> Iterator[Declared]:
    lists = [("", texts_of(manifest, "project", "dependencies"))]
    for kind, table in (
        ("extra", part_of(manifest, "project", "optional-dependencies")),
        ("group", manifest.get("dependency-groups")),
    ):
        lists += [(f"{kind} {name}", texts_of(table, name)) for name in table] if isinstance(table, dict) else []
    lists.append(("group dev", texts_of(manifest, "tool", "uv", "dev-dependencies")))
    for group, lines in lists:
        for line in lines:
            yield from _from_requirement(line, group, "pyproject.toml")
    yield from _from_poetry(part_of(manifest, "tool", "poetry"))


def _from_poetry(settings: Json) -> Iterator[Declared]:
    tables = {"": part_of(settings, "dependencies"), "group dev": part_of(settings, "dev-dependencies")}
    groups = part_of(settings, "group")
    if isinstance(groups, dict):
        tables |= {f"group {name}": part_of(groups, name, "dependencies") for name in groups}
    for group, table in tables.items():
        for name, wanted in table.items() if isinstance(table, dict) else ():
            if name == "python":
                continue
            asked = _plain_range(wanted if isinstance(wanted, str) else text_of(wanted, "version"))
            elsewhere = isinstance(wanted, dict) and not {"git", "path", "url"}.isdisjoint(wanted)
            problem, source = ELSEWHERE if elsewhere else "", text_of(wanted, "source")
            plain = canonicalize_name(name)
            yield _declared("pypi", plain, asked, group, "pyproject.toml", registry=source, problem=problem)


def _plain_range(text: str) -> str:
    """Return a range of Poetry as pip takes it: `^1.2` is `>=1.2,<2`, and `1.2` is `==1.2`."""
    parts = []
    for part in text.split(","):
        plain = part.strip()
        found = re.fullmatch(r"([\^~])(\d+(?:\.\d+)*)$", plain)
        if found is not None:
            numbers = [int(number[:9]) for number in found[2].split(".")]
            if found[1] == "^":
                place = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
            else:
                place = min(1, len(numbers) - 1)
            upper = ".".join(map(str, [*numbers[:place], numbers[place] + 1]))
            plain = f">={found[2]},<{upper}"
        elif plain[:1].isdigit():
            plain = f"=={plain}"
        parts.append("" if plain == "*" else plain)
    return ",".join(filter(None, parts))


def _from_requirements(file: str, text: str) -> Iterator[Declared]:
    index = re.search(r"^\s*(?:-i|--index-url)[ =]\s*(\S+)", text, re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        plain = re.sub(r"(?:^|\s)(?:#.*|--hash.*|--config-settings.*)$", "", line).strip()
        if plain and not plain.startswith("-"):
            for found in _from_requirement(plain, "", file):
                yield found | {"registry": index[1] if index else ""}


def _from_requirement(line: str, group: str, file: str) -> Iterator[Declared]:
    try:
        need = Requirement(line)
    except InvalidRequirement:
        yield _declared("pypi", line[:100], "", group, file, problem="it is not a valid requirement")
        return
    problem = ELSEWHERE if need.url else ""
    yield _declared("pypi", canonicalize_name(need.name), str(need.specifier), group, file, problem=problem)


def _toml(text: str) -> JsonObject:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
