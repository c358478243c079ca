"""Python and npm packages: their versions, the changes between two, and a project's outdated packages."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from typing import TypedDict

from anyio import to_thread

from ot.context import current
from ot.effects import reads
from ot.errors import CallError, ToolError
from ot.files.allowed_files import allowed_files
from ot_packs.limits import as_number
from ot_packs.package.asking import open_registries
from ot_packs.package.lookups import Verdict, build_lookups, judge_all, read_files
from ot_packs.package.releases import About, Choice, Used, Wanted

pack = "package"
timeout = 120
needs = {"packaging": "packaging>=26", "nodesemver": "node-semver>=0.9"}

_MOST_PACKAGES = 400  # of one project


class Release(TypedDict):
    """A version; `requires` is the Python or Node it runs on, `withdrawn` says why it was yanked or deprecated."""

    version: str
    released: str
    requires: str
    withdrawn: str | None
    prerelease: bool


class Dependency(TypedDict):
    """A dependency that differs between two releases; None where a release does not need it."""

    name: str
    extra: str
    before: str | None
    after: str | None


class Changes(TypedDict):
    """The changes between two releases; `dependencies` is None if the registry does not list them."""

    since: str
    to: str
    releases: int
    requires: list[str]
    dependencies: list[Dependency] | None


class Package(TypedDict):
    name: str
    registry: str
    newest: Release | None
    matching: Release | None
    versions: list[Release]
    total: int
    more: bool
    tags: dict[str, str]
    summary: str
    license: str
    links: dict[str, str]
    changes: Changes | None


class Outdated(TypedDict):
    """A package that a project uses; `wanted` is the newest version that the project's range allows."""

    kind: str
    name: str
    group: str
    file: str
    asked: str
    current: str
    wanted: str
    newest: str
    released: str
    requires: str
    withdrawn: str | None


class Problem(TypedDict):
    name: str
    reason: str


class Report(TypedDict):
    """The outdated packages of a project, among those that were `checked`."""

    packages: list[Outdated]
    total: int
    more: bool
    checked: int
    problems: list[Problem]


@reads
async def pypi(
    *,
    name: str,
    version: str = "",
    since: str = "",
    python: str = "",
    prereleases: bool = False,
    limit: int | None = 20,
) -> Package:
    """Look up a Python package in the indexes that pip and uv are configured to use.

    Args:
        name: Its name: "httpx".
        version: Only versions that match: ">=2,<3", or "2.1".
        since: A version that you have: shows what changed from it to the newest matching one.
        python: Only releases that run on this Python: "3.11".
        prereleases: Include pre-releases.
        limit: Maximum number of versions; None for all.

    Returns:
        The `newest` release, the newest `matching` one, and the matching `versions`, newest first, of a `total`: each
        with `released`, `requires` (the Python) and why it is `withdrawn`. For the matching one `summary`, `license`
        and `links`, with `changelog` and `repository` if known. With `since` the `changes`: the number of `releases`,
        `requires` before and after, and the `dependencies` that differ.

    Example:
        seen = package.pypi(name="httpx", version="<1", since="0.27.0")
        seen["matching"]["version"], seen["links"].get("changelog"), seen["changes"]["dependencies"]
    """
    limit = as_number(limit)
    async with open_registries() as client:
        lookups = await build_lookups(client, allowed_files().home)
        wanted = Wanted(version=version, since=since, python=python, prereleases=prereleases, limit=limit)
        registry, index = await lookups.find_python(name, **wanted)
        about = await _optional(lookups.about_python(registry, index, _version_of(index["matching"])))
        before = await _optional(lookups.about_python(registry, index, _version_of(index["since"])))
    return _describe(name, registry.url, index, about, before, asked=since)


@reads
async def npm(
    *,
    name: str,
    version: str = "",
    since: str = "",
    prereleases: bool = False,
    dates: bool = False,
    limit: int | None = 20,
) -> Package:
    """Look up an npm package in the registries that npm is configured to use, including those of scopes.

    Args:
        name: Its name: "react", "@types/node".
        version: Only versions in this range: "^18", or a tag: "next".
        since: A version that you have: shows what changed from it to the newest matching one.
        prereleases: Include pre-releases.
        dates: Also return release dates, which takes the registry's full document.
        limit: Maximum number of versions; None for all.

    Returns:
        The same as `package.pypi`; `requires` is the Node that a version runs on, `withdrawn` why it is deprecated.
        The `tags` map to versions; `newest` is the one tagged as latest.

    Example:
        seen = package.npm(name="react", version="^18", since="18.2.0")
        seen["matching"]["version"], seen["newest"]["version"], seen["changes"]["dependencies"]
    """
    limit = as_number(limit)
    async with open_registries() as client:
        lookups = await build_lookups(client, allowed_files().home)
        wanted = Wanted(version=version, since=since, prereleases=prereleases, limit=limit)
        registry, document = await lookups.find_npm(name, dates=dates, **wanted)
        about = await _optional(lookups.about_npm(registry, name, document, _version_of(document["matching"])))
    before = document["about"].get(_version_of(document["since"]))
    return _describe(name, registry.url, document, about, before, asked=since) | {"tags": document["tags"]}


@reads
async def outdated(
    *, path: str = ".", indirect: bool = False, prereleases: bool = False, limit: int | None = 100
) -> Report:
    """List packages that a project uses and that have newer versions, or were withdrawn.

    Args:
        path: A folder, or one of pyproject.toml, requirements*.txt and package.json, with the lock files beside it.
        indirect: Include packages that only the lock files name.
        prereleases: Include pre-releases.
        limit: Maximum number of packages; None for all.

    Returns:
        `packages`, of a `total`, with the range that is `asked`, the `current` version, the newest that is `wanted` by
        that range, the `newest` of all, when it was `released`, what it `requires`, and why the current one is
        `withdrawn`; how many were `checked`, and `problems` with their reasons.

    Example:
        [(each["name"], each["current"], each["newest"]) for each in package.outdated()["packages"]]
    """
    limit = as_number(limit)
    files = allowed_files()
    texts = await to_thread.run_sync(read_files, files, path)
    async with open_registries() as client:
        used = await client.read("read_project", Used, files=texts, indirect=indirect)
        lookups = await build_lookups(client, files.home)
        verdicts = await judge_all(lookups, used["packages"][:_MOST_PACKAGES], prereleases=prereleases)
    behind = [_outdated(verdict) for verdict in verdicts if verdict.behind]
    problems: list[Problem] = [{"name": "", "reason": reason} for reason in used["problems"]]
    problems += [{"name": each.package["name"], "reason": each.problem} for each in verdicts if each.problem]
    if len(used["packages"]) > _MOST_PACKAGES:
        left = len(used["packages"]) - _MOST_PACKAGES
        problems.append({"name": "", "reason": f"{left} packages were not looked up: pass one file as path"})
    total, more = len(behind), max(len(behind), len(problems)) > limit or len(used["packages"]) > _MOST_PACKAGES
    checked = sum(not verdict.problem for verdict in verdicts)
    return Report(packages=behind[:limit], total=total, more=more, checked=checked, problems=problems[:limit])


def _version_of(release: Release | None) -> str:
    return release["version"] if release else ""


async def _optional(reading: Awaitable[About | None]) -> About | None:
    """Return the metadata of a release; if it cannot be read, the rest of the answer is given without it."""
    try:
        return await reading
    except CallError as error:
        current().note(f"package: {error}")
        return None


def _describe(
    name: str, registry: str, choice: Choice, about: About | None, before: About | None, *, asked: str
) -> Package:
    if asked and choice["since"] is None:
        known = ", ".join(release["version"] for release in choice["releases"][:5]) or "none that fits"
        raise ToolError(f"{name} has no version {asked[:100]}; the newest are {known}")
    return {
        "name": name,
        "registry": registry,
        "newest": choice["newest"],
        "matching": choice["matching"],
        "versions": choice["releases"],
        "total": choice["total"],
        "more": choice["total"] > len(choice["releases"]),
        "tags": {},
        "summary": about["summary"] if about else "",
        "license": about["license"] if about else "",
        "links": about["links"] if about else {},
        "changes": _changes(choice, about, before),
    }


def _changes(choice: Choice, about: About | None, before: About | None) -> Changes | None:
    since, to = choice["since"], choice["matching"]
    if since is None or to is None:
        return None
    requires = [since["requires"], to["requires"]]
    needs = list(_differences(before["needs"], about["needs"])) if before and about else None
    return Changes(
        since=since["version"], to=to["version"], releases=choice["between"], requires=requires, dependencies=needs
    )


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Dependency]:
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            plain, _, extra = name.partition(" ")
            yield {"name": plain, "extra": extra.strip("[]"), "before": old, "after": new}


def _outdated(verdict: Verdict) -> Outdated:
    package, found = verdict.package, verdict.found
    newest, wanted, own = (found["newest"], found["matching"], found["since"]) if found else (None, None, None)
    return {
        "kind": package["kind"],
        "name": package["name"],
        "group": package["group"],
        "file": package["file"],
        "asked": package["asked"],
        "current": package["current"],
        "wanted": _version_of(wanted),
        "newest": _version_of(newest),
        "released": newest["released"] if newest else "",
        "requires": newest["requires"] if newest else "",
        "withdrawn": own["withdrawn"] if own else None,
    }
