"""Secrets of the person: from `secrets.yaml`, then from the environment; never part of any text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ot.config.documents import read_document
from ot.config.keys import dotted
from ot.errors import ConfigError

SHORTEST_HIDDEN = 6
"""Shorter values are not replaced in answers: they would hit ordinary words."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Secrets:
    """Values by name, for the calls that may use them, and the set of values that no answer may show."""

    __slots__ = ("_environ", "_known", "_values")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        substituted: Iterable[str] = (),
    ) -> None:
        self._values = dict(values or {})
        self._environ = dict(environ or {})
        hidden = {*self._values.values(), *substituted}
        self._known = frozenset(value for value in hidden if len(value) >= SHORTEST_HIDDEN)

    def get(self, name: str) -> str | None:
        """Return the value from `secrets.yaml`, else from the environment."""
        value = self._values.get(name)
        return self._environ.get(name) if value is None else value

    def known_values(self) -> frozenset[str]:
        """Return the values that must not leave the process: those of `secrets.yaml`, and used variables."""
        return self._known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secrets):
            return NotImplemented
        return (self._values, self._environ) == (other._values, other._environ)

    def __hash__(self) -> int:
        return hash(frozenset(self._values))  # of the names

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)} hidden)"


def read_secrets(files: Iterable[Path]) -> dict[str, str]:
    """Read the names and values of several files, nearest first: the first file that has a name decides."""
    secrets: dict[str, str] = {}
    for file in files:
        for name, value in read_document(file, private=True).items():
            secrets.setdefault(*_checked(name, value, file))
    return secrets


def _checked(name: object, value: object, file: Path) -> tuple[str, str]:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            "is not the name of a variable", file=file, key=dotted([name]), fix="use letters, digits and _ only"
        )
    if not isinstance(value, str):
        raise ConfigError("must be text", file=file, key=name, fix="put the value in quotes")
    return name, value
