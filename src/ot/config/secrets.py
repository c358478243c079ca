"""Secrets of the person: from `secrets.yaml`, then from the environment; never part of any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ot.config.documents import Documents, RememberedFiles
from ot.config.keys import dotted
from ot.errors import ConfigError

SHORTEST_HIDDEN = 6
"""Shorter values are not replaced in answers: they would hit ordinary words."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Secrets:
    """Values by name, for the calls that may use them, and the set of values that no answer may show.

    `project` are those of the project; whatever is not the project's finds them only where the person has none.
    """

    __slots__ = ("_environ", "_known", "_project", "_values")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        project: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        substituted: Iterable[str] = (),
    ) -> None:
        self._values = dict(values or {})
        self._project = dict(project or {})
        self._environ = dict(environ or {})
        hidden = {*self._values.values(), *self._project.values(), *substituted}
        self._known = frozenset(value for value in hidden if len(value) >= SHORTEST_HIDDEN)

    def get(self, name: str) -> str | None:
        """Return the value for OneTool itself: from the person's `secrets.yaml`, the environment, the project's."""
        return _first(name, self._values, self._environ, self._project)

    def for_extension(self, name: str, *, of_project: bool) -> str | None:
        """Return the value for an extension: from the `secrets.yaml` beside it first, never from the environment."""
        files = (self._project, self._values) if of_project else (self._values, self._project)
        return _first(name, *files)

    def overlaid(self, values: Mapping[str, str]) -> Secrets:
        """Return these secrets with others before them."""
        return Secrets(
            {**self._values, **values}, project=self._project, environ=self._environ, substituted=self._known
        )

    def known_values(self) -> frozenset[str]:
        """Return the values that must not leave the process: those of `secrets.yaml`, and used variables."""
        return self._known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secrets):
            return NotImplemented
        return self._all() == other._all()

    def _all(self) -> tuple[dict[str, str], ...]:
        return self._values, self._project, self._environ

    def __hash__(self) -> int:
        return hash(frozenset(self._values))  # of the names

    def __repr__(self) -> str:
        return f"Secrets({len(self._values.keys() | self._project.keys())} hidden)"


def is_name(name: str) -> bool:
    """True for what can be the name of a secret."""
    return _NAME.fullmatch(name) is not None


def _first(name: str, *places: Mapping[str, str]) -> str | None:
    return next((place[name] for place in places if name in place), None)


def read_secrets(file: Path | None, documents: Documents | None = None) -> dict[str, str]:
    """Read the names and values in a file; none where there is no file."""
    if file is None:
        return {}
    found = (documents or RememberedFiles()).read(file, private=True) or {}
    return dict(_checked(name, value, file) for name, value in found.items())


def _checked(name: object, value: object, file: Path) -> tuple[str, str]:
    if not isinstance(name, str) or not is_name(name):
        raise ConfigError(
            "is not a valid variable name", file=file, key=dotted([name]), fix="use letters, digits and _ only"
        )
    if not isinstance(value, str):
        raise ConfigError("must be text", file=file, key=name, fix="put the value in quotes")
    return name, value
