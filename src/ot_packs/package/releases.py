"""Records of registries and projects: releases, the differences between two, used packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypedDict

_LONGEST = 500  # characters of what a registry says of one thing


class Release(TypedDict):
    """A version; `withdrawn` says why it should not be used, or is None."""

    version: str
    released: str
    requires: str
    withdrawn: str | None
    prerelease: bool


class Choice(TypedDict):
    """The matching releases of a package, newest first, and the relevant ones among them."""

    newest: Release | None
    matching: Release | None
    since: Release | None
    releases: list[Release]
    total: int
    between: int  # releases after `since`, up to the matching one; those that are wanted
    behind: bool  # the newest is newer than `since`, or without that, not the matching one


class Dependency(TypedDict):
    """A dependency that differs between two releases; None where a release does not need it."""

    name: str
    extra: str
    before: str | None
    after: str | None


class About(TypedDict):
    """The metadata of a release."""

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
    """Everything that the files of a project say of its packages."""

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
    """Return one line of bounded length."""
    return " ".join(str(text).split())[:_LONGEST] if isinstance(text, str | int | float) else ""


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Dependency]:
    """Compare what two releases need."""
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            plain, _, extra = name.partition(" ")
            yield {"name": plain, "extra": extra.strip("[]"), "before": old, "after": new}


def choose(fitting: Sequence[Release], *, prereleases: bool) -> Release | None:
    """Return the first that stands, and is no pre-release unless that is wanted, or else the best there is."""
    standing = [release for release in fitting if release["withdrawn"] is None] or list(fitting)
    final = [release for release in standing if prereleases or not release["prerelease"]]
    return next(iter(final or standing), None)
