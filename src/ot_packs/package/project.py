"""The packages that a project uses, against what the registries have."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import PurePath
from typing import TypedDict

import anyio

from ot.context import current
from ot.errors import CallError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot_packs.locks import read_project_file
from ot_packs.package.lookups import Lookups
from ot_packs.package.releases import Choice, Declared, Release

_BESIDE = (
    "pyproject.toml", "uv.toml", "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", ".npmrc",
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml",
)  # fmt: skip
_MANIFESTS = ("pyproject.toml", "package.json", "requirements*.txt")
_AT_ONCE = 8


class Verdict(TypedDict):
    """The registries' answer for a package that a project uses; `problem` says why there is none."""

    package: Declared
    newest: Release | None
    matching: Release | None
    current: Release | None
    behind: bool  # there is something newer, or what the project has is withdrawn
    problem: str


def read_files(files: AllowedFiles, path: str) -> dict[str, str]:
    """Return the texts of a project's manifests and locks, by their names in its folder; blocking.

    `path` is the folder, or one of its manifests, which alone counts then. Raises PathError.
    """
    try:
        names = sorted(entry.name for entry in files.list(path))
        folder, manifests = path, [name for name in names if _is_manifest(name)]
    except PathError:
        files.locate(path)  # it is not there, or not for tools
        folder, name = str(PurePath(path).parent), PurePath(path).name
        if not _is_manifest(name):
            raise ToolError(f"{path} is not a pyproject.toml, requirements*.txt or package.json") from None
        names, manifests = [entry.name for entry in files.list(folder)], [name]
    wanted = [name for name in _BESIDE if name in names and not _is_manifest(name)] + manifests
    texts = {name: read_project_file(files, str(PurePath(folder) / name)) for name in wanted}
    if not manifests:
        raise ToolError(f"{path} has no pyproject.toml, no requirements*.txt and no package.json")
    return texts


def _is_manifest(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _MANIFESTS)


async def judge_all(lookups: Lookups, packages: Sequence[Declared], *, prereleases: bool) -> list[Verdict]:
    """Look up packages side by side; one that cannot be looked up does not stop the others."""
    verdicts: dict[int, Verdict] = {}
    turns = anyio.Semaphore(_AT_ONCE)

    async def judge_one(index: int, package: Declared) -> None:
        async with turns:
            verdicts[index] = await _judge(lookups, package, prereleases=prereleases)
        await current().progress(len(verdicts), len(packages), package["name"])

    async with anyio.create_task_group() as tasks:
        for index, package in enumerate(packages):
            tasks.start_soon(judge_one, index, package)
    return [verdicts[index] for index in range(len(packages))]


async def _judge(lookups: Lookups, package: Declared, *, prereleases: bool) -> Verdict:
    verdict: Verdict = {
        "package": package,
        "newest": None,
        "matching": None,
        "current": None,
        "behind": False,
        "problem": package["problem"],
    }
    if package["problem"]:
        return verdict
    try:
        found = await _look_up(lookups, package, prereleases=prereleases)
    except CallError as error:
        return verdict | {"problem": str(error)}
    own = found["since"]
    return verdict | {
        "newest": found["newest"],
        "matching": found["matching"],
        "current": own,
        "behind": found["behind"] or (own is not None and own["withdrawn"] is not None),
    }


async def _look_up(lookups: Lookups, package: Declared, *, prereleases: bool) -> Choice:
    find = lookups.find_npm if package["kind"] == "npm" else lookups.find_python
    _, found = await find(
        package["name"],
        version=package["asked"],
        since=package["current"],
        prereleases=prereleases,
        limit=0,
        address=package["registry"],
    )
    return found
