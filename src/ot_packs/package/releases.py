"""What the readers of registries and projects give: releases, the differences between two, packages that are used."""

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
    """The releases of a package that fit, newest first, and those that are meant."""

    newest: Release | None
    matching: Release | None
    since: Release | None
    releases: list[Release]
    total: int
    between: int  # releases after `since`, up to the matching one; those that are wanted
    behind: bool  # the newest is newer than `since`, or without that, not the matching one


class Dependency(TypedDict):
    """What a release needs, and another needs otherwise; None where it does not need it."""

    name: str
    extra: str
    before: str | None
    after: str | None


class About(TypedDict):
    """What a release says of itself."""

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
    """What an index of Python packages says, and where the metadata of the releases that matter can be had."""

    metadata: dict[str, str]


class Document(Choice):
    """What an npm registry says: also the tags of the package, and what it says of the releases that matter."""

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
