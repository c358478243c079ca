"""Answers of an npm registry: the document of a package, whole or abbreviated, and the manifest of a version.

Runs in a helper process, which has the library `nodesemver`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import nodesemver

from mcp_core.json_types import Json, JsonObject
from ot.errors import ToolError
from ot_packs.net.values import part_of, text_of
from ot_packs.package.releases import About, Document, Release, choose, short

_HOSTS = re.compile(
    r"^(?:git\+|git:|ssh:)*(?://)?(?:https?://|git://|ssh://)?(?:git@)?(github|gitlab|bitbucket)(?:\.(?:com|org))?[:/]"
)


def read_document(*, body: str, version: str, since: str, prereleases: bool, limit: int) -> Document:
    """Read the versions of a package that fit a range, or a tag; raises ToolError."""
    document = _json(body)
    versions = _object(document, "versions")
    tags = {tag: text for tag in _object(document, "dist-tags") if (text := text_of(document, "dist-tags", tag))}
    valid = [each for each in versions if nodesemver.valid(each, True) is not None]
    newest_first: list[str] = nodesemver.rsort(valid, True)
    releases = [_release(each, versions[each], document) for each in newest_first]
    wanted = tags.get(version.strip(), version.strip() or "*")
    fits = _range(wanted)
    fitting = [each for each in releases if fits.test(each["version"], prereleases) or each["version"] == wanted]
    latest = next((each for each in releases if each["version"] == tags.get("latest")), None)
    # npm takes what is tagged as latest, if that fits, also where something newer does.
    tagged = latest if latest in fitting and not prereleases else None
    matching = tagged if tagged and tagged["withdrawn"] is None else choose(fitting, prereleases=prereleases)
    shown = [each for each in fitting if prereleases or not each["prerelease"]] or fitting
    own = since.strip().removeprefix("v")
    old = next((each for each in releases if each["version"] == own), None)
    newest = latest if latest is not None and not prereleases else choose(releases, prereleases=prereleases)
    return {
        "newest": newest,
        "matching": matching,
        "since": old,
        "releases": shown[:limit],
        "total": len(shown),
        "between": sum(_is_newer(each, own) and not _is_newer(each, matching["version"]) for each in shown)
        if own and matching
        else 0,
        "behind": newest is not None and (_is_newer(newest, own) if own else newest != matching),
        "tags": dict(list(tags.items())[:50]),
        "about": {each["version"]: _about(versions[each["version"]]) for each in (old, matching) if each is not None},
    }


def read_manifest(*, body: str) -> About:
    return _about(_json(body))


def _json(body: str) -> JsonObject:
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        if body.lstrip()[:1] == "<":
            raise ToolError("the registry returned an HTML page instead of JSON: is it a login page?") from None
        raise ToolError("the registry returned incomplete or invalid JSON; try again later") from error
    if not isinstance(value, dict):
        raise ToolError("the registry returned JSON that does not describe a package")
    return value


def _object(value: Json, key: str) -> JsonObject:
    found = part_of(value, key)
    return found if isinstance(found, dict) else {}


def _release(version: str, facts: Json, document: Json) -> Release:
    deprecated = part_of(facts, "deprecated")
    return {
        "version": version,
        "released": text_of(document, "time", version)[:19],
        "requires": short(text_of(facts, "engines", "node")),
        "withdrawn": short(deprecated) or "deprecated" if deprecated not in (None, False, "") else None,
        "prerelease": "-" in version.partition("+")[0],
    }


def _range(text: str) -> nodesemver.Range:
    if len(text) > 1000 or nodesemver.valid_range(text, True) is None:
        raise ToolError(f"{text[:100]!r} is neither a tag of this package nor a range such as '^1.2'")
    return nodesemver.make_range(text, True)


def _is_newer(release: Release, version: str) -> bool:
    return nodesemver.valid(version, True) is not None and bool(nodesemver.gt(release["version"], version, True))


def _about(facts: Json) -> About:
    return {
        "summary": short(text_of(facts, "description")),
        "license": short(text_of(facts, "license") or text_of(facts, "license", "type"))[:100],
        "links": dict(_links(facts)),
        "requires": short(text_of(facts, "engines", "node")),
        "needs": dict(_needs(facts)),
    }


def _needs(facts: Json) -> Iterator[tuple[str, str]]:
    for key, extra in {"dependencies": "", "optionalDependencies": "optional", "peerDependencies": "peer"}.items():
        for name in list(_object(facts, key))[:2000]:
            yield short(name) + (f" [{extra}]" if extra else ""), short(text_of(facts, key, name)) or "any"


def _links(facts: Json) -> Iterator[tuple[str, str]]:
    if homepage := text_of(facts, "homepage"):
        yield "homepage", short(homepage)
    repository = text_of(facts, "repository", "url") or text_of(facts, "repository")
    if repository:
        address = _browsable(repository)
        yield "repository", short(address)
        if address.startswith(("https://github.com/", "https://gitlab.com/")):
            yield "changelog", short(f"{address}/releases" if "github" in address else f"{address}/-/releases")
    if issues := text_of(facts, "bugs", "url") or text_of(facts, "bugs"):
        yield "issues", short(issues)


def _browsable(repository: str) -> str:
    """Return the page of a repository: `git+ssh://git@github.com/a/b.git` and `github:a/b` are one."""
    found = _HOSTS.match(repository)
    if found is None and re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        return f"https://github.com/{repository}"
    if found is None:
        return repository.removeprefix("git+").removesuffix(".git")
    host = "bitbucket.org" if found[1] == "bitbucket" else f"{found[1]}.com"
    return f"https://{host}/{repository[found.end() :].removesuffix('.git').partition('#')[0]}"
