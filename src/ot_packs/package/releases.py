"""Records of registries and projects: releases, the differences between two, used packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

_LONGEST = 500  # characters of what a registry says of one thing


class Release(TypedDict):
    """A version; `withdrawn` says why it should not be used, or is None."""

    version: str
    released: str
    requires: str
    withdrawn: str | None
    prerelease: bool


class Wanted(TypedDict, total=False):
    """Which releases of a package are wanted; `since` is the one that somebody has."""

    version: str
    since: str
    python: str
    prereleases: bool
    limit: int


class Choice(TypedDict):
    """The matching releases of a package, newest first, and the relevant ones among them."""

    newest: Release | None
    matching: Release | None
    since: Release | None
    releases: list[Release]
    total: int
    between: int  # releases after `since`, up to the matching one; those that are wanted
    behind: bool  # the newest is newer than `since`, or without that, not the matching one


class About(TypedDict):
    summary: str
    license: str
    links: dict[str, str]
    requires: str
    needs: dict[str, str]  # by name, and by `name [extra]`


class Declared(TypedDict):
    """A package that a project uses; `asked` is the range, `registry` the address that the project has it from."""

    kind: str
    name: str
    asked: str
    group: str
    file: str
    current: str
    registry: str
    problem: str


class Used(TypedDict):
    packages: list[Declared]
    problems: list[str]


class Index(Choice):
    """The answer of a Python index, with the addresses of the metadata of the relevant releases."""

    metadata: dict[str, str]


class Document(Choice):
    """The answer of an npm registry, with the tags of the package and the metadata of the relevant releases."""

    tags: dict[str, str]
    about: dict[str, About]


def short(text: object) -> str:
    return " ".join(str(text).split())[:_LONGEST] if isinstance(text, str | int | float) else ""


def choose(fitting: Sequence[Release], *, prereleases: bool) -> Release | None:
    """Return the first that stands, and is no pre-release unless that is wanted, or else the best there is."""
    standing = [release for release in fitting if release["withdrawn"] is None] or list(fitting)
    final = [release for release in standing if prereleases or not release["prerelease"]]
    return next(iter(final or standing), None)
