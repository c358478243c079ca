"""Answers of an index of Python packages: the simple API as JSON or HTML, and the metadata of a release.

Runs in a helper process, which has the library `packaging`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from packaging import utils
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from mcp_core.json_types import Json
from ot.errors import ToolError
from ot_packs.net.values import items_of, text_of
from ot_packs.package.releases import About, Index, Release, choose, short

_CHANGES = ("changelog", "changes", "change log", "release notes", "releases", "history", "what's new", "news")
_CODE = ("repository", "source", "source code", "sourcecode", "code", "github", "gitlab")


class _File(NamedTuple):
    version: Version
    url: str
    wheel: bool
    requires: str
    yanked: str | None
    uploaded: str


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attributes))


def read_index(
    *, body: str, url: str, name: str, version: str, since: str, python: str = "", prereleases: bool, limit: int
) -> Index:
    """Read the releases of a package that fit a specifier `version` and a Python; raises ToolError."""
    files: dict[Version, list[_File]] = {}
    for file in _files(body, url, utils.canonicalize_name(name)):
        files.setdefault(file.version, []).append(file)
    releases = {each: _release(each, files[each]) for each in sorted(files, reverse=True)}
    wanted = _specifier(version)
    compatible = {each: found for each, found in releases.items() if _runs_on(found["requires"], python)}
    fitting = {each: found for each, found in compatible.items() if wanted.contains(each, prereleases=True)}
    shown = [found for found in fitting.values() if prereleases or not found["prerelease"]] or list(fitting.values())
    matching = choose(list(fitting.values()), prereleases=prereleases)
    newest = choose(list(compatible.values()), prereleases=prereleases)
    old = _version(since) if since else None
    last = Version(matching["version"]) if matching else None
    return {
        "newest": newest,
        "matching": matching,
        "since": releases.get(old) if old is not None else None,
        "releases": shown[:limit],
        "total": len(shown),
        "between": sum(old < Version(each["version"]) <= last for each in shown) if old and last else 0,
        "behind": newest is not None and (Version(newest["version"]) > old if old else newest != matching),
        "metadata": {str(each): found for each in (old, last) if each in files and (found := _metadata(files[each]))},
    }


def read_about(*, text: str) -> About:
    raw, _ = parse_email(text)
    links = {short(label): short(address) for label, address in raw.get("project_urls", {}).items()}
    plain = {label.casefold().strip(): address for label, address in links.items()}
    named = {
        "homepage": raw.get("home_page") or plain.get("homepage", ""),
        "changelog": next((plain[label] for label in _CHANGES if label in plain), ""),
        "repository": next((plain[label] for label in _CODE if label in plain), ""),
    }
    return {
        "summary": short(raw.get("summary", "")),
        "license": short(raw.get("license_expression") or raw.get("license", ""))[:100],
        "links": {label: address for label, address in named.items() if address} | links,
        "requires": short(raw.get("requires_python", "")),
        "needs": dict(_needs(raw.get("requires_dist", []))),
    }


def _files(body: str, url: str, name: str) -> Iterator[_File]:
    found = 0
    for file, address, facts in _listed(body, url):
        found += 1
        try:
            wheel = file.endswith(".whl")
            named, version = utils.parse_wheel_filename(file)[:2] if wheel else utils.parse_sdist_filename(file)
        except (utils.InvalidWheelFilename, utils.InvalidSdistFilename, InvalidVersion):
            continue  # an egg, an installer, a version that is none
        if named == name:
            yanked = facts.get("yanked")
            reason = None if yanked in (None, False) else "yanked" if yanked is True else short(yanked) or "yanked"
            uploaded = short(facts.get("upload-time") or "")
            yield _File(version, address, wheel, short(facts.get("requires-python") or ""), reason, uploaded)
    if found and body.lstrip()[:1] != "{" and not any(suffix in body for suffix in (".whl", ".tar.gz", ".zip", ".egg")):
        raise ToolError("the index returned an HTML page that lists no files: is it a login page?")


def _listed(body: str, url: str) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield the files that an answer lists: their names, their addresses, and what it says of them."""
    if body.lstrip()[:1] == "{":
        for file in items_of(_json(body), "files"):
            yield text_of(file, "filename"), _join(url, text_of(file, "url")), dict(file)
        return
    page = _Links()
    page.feed(body)
    for link in page.found:
        address = _join(url, link.get("href") or "")
        yanked = (link["data-yanked"] or True) if "data-yanked" in link else None
        about: dict[str, object] = {key: link.get(f"data-{key}") for key in ("requires-python", "upload-time")}
        yield unquote(urlsplit(address).path.rpartition("/")[2]), address, about | {"yanked": yanked}


def _json(body: str) -> Json:
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ToolError("the index returned incomplete or invalid JSON; try again later") from error
    return value


def _join(url: str, address: str) -> str:
    try:
        return urljoin(url, address).partition("#")[0]
    except ValueError:
        return ""


def _release(version: Version, files: list[_File]) -> Release:
    reasons = [file.yanked for file in files]
    return {
        "version": str(version),
        "released": min((file.uploaded for file in files if file.uploaded), default="")[:19],
        "requires": next((file.requires for file in files if file.requires), ""),
        "withdrawn": None if None in reasons else reasons[0],
        "prerelease": version.is_prerelease,
    }


def _metadata(files: list[_File]) -> str:
    """Return where the metadata lies that a wheel has beside it; "" if there is no wheel."""
    return next((f"{file.url}.metadata" for file in files if file.wheel and file.url), "")


def _runs_on(requires: str, python: str) -> bool:
    if not python or not requires:
        return True
    try:
        return SpecifierSet(requires).contains(Version(python), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def _specifier(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(f"=={text.strip()}" if text.strip()[:1].isdigit() else text)
    except InvalidSpecifier as error:
        raise ToolError(f"{text[:100]!r} is not a version such as '2.1', nor a specifier such as '>=2,<3'") from error


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise ToolError(f"{text[:100]!r} is not a version such as '2.1'") from error


def _needs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Name what is needed, apart for every extra; what differs by its marker is one need."""
    found: dict[str, set[str]] = {}
    for line in lines:
        try:
            need = Requirement(line)
        except InvalidRequirement:
            continue
        marker = str(need.marker or "")
        extra = marker.partition('extra == "')[2].partition('"')[0]
        plain = marker.removesuffix(f'extra == "{extra}"').removesuffix(" and ") if extra else marker
        text = str(need.specifier or need.url or "any") + (f" ; {plain}" if plain else "")
        found.setdefault(utils.canonicalize_name(need.name) + (f" [{extra}]" if extra else ""), set()).add(text)
    for name, texts in found.items():
        yield name, short(" or ".join(sorted(texts)))
