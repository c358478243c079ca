"""The secrets of a person, `${NAME}` in the texts of a file, and which of the values used no answer may show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ot.config.documents import Documents, RememberedFiles
from ot.config.keys import dotted
from ot.errors import ConfigError, UnsetVariableError

SHORTEST_HIDDEN = 6  # shorter values are not replaced in answers: they would hit ordinary words
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}\n]*)(\}?)")

_ORDINARY = re.compile(
    r"(HOME|PATH|PWD|OLDPWD|USER|USERNAME|LOGNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA"
    r"|SYSTEMROOT|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TZ|TMP|TEMP|TMPDIR|HOSTNAME|DISPLAY|EDITOR|VIRTUAL_ENV|PYTHONPATH"
    r"|NODE_PATH|XDG_\w+)"
)
"""Variables that are part of many answers: hiding the home folder would make paths useless."""


class Secrets:
    """Values by name, for the calls that may use them, and the set of values that no answer may show."""

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
        self._project = dict(project or {})  # for what is not the project's, only where the person has none
        self._environ = {name: value for name, value in (environ or {}).items() if value}  # an empty one is not set
        hidden = {*self._values.values(), *self._project.values(), *substituted}
        self._known = frozenset(value for value in hidden if len(value) >= SHORTEST_HIDDEN)

    def get(self, name: str) -> str | None:
        """Return the value for OneTool itself: from the person's `secrets.yaml`, the environment, the project's."""
        return _first(name, self._values, self._environ, self._project)

    def for_extension(self, name: str, *, of_project: bool) -> str | None:
        """Return the value for an extension: from the `secrets.yaml` beside it first, never from the environment."""
        return _first(name, *((self._project, self._values) if of_project else (self._values, self._project)))

    def overlaid(self, values: Mapping[str, str]) -> Secrets:
        merged = {**self._values, **values}
        return Secrets(merged, project=self._project, environ=self._environ, substituted=self._known)

    def known_values(self) -> frozenset[str]:
        """Return the values that must not leave the process: those of `secrets.yaml`, and used variables."""
        return self._known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secrets):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in ("_values", "_project", "_environ"))

    def __hash__(self) -> int:
        return hash(frozenset(self._values))  # of the names

    def __repr__(self) -> str:
        return f"Secrets({len(self._values.keys() | self._project.keys())} hidden)"


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _first(name: str, *places: Mapping[str, str]) -> str | None:
    return next((place[name] for place in places if name in place), None)


def read_secrets(file: Path | None, documents: Documents | None = None) -> dict[str, str]:
    """Read the names and values in a file; none where there is no file."""
    if file is None:
        return {}
    found = (documents or RememberedFiles()).read(file, private=True) or {}
    secrets: dict[str, str] = {}
    for name, value in found.items():
        if not isinstance(name, str) or not is_name(name):
            fix = "use letters, digits and _ only"
            raise ConfigError("is not a valid variable name", file=file, key=dotted([name]), fix=fix)
        if not isinstance(value, str):
            raise ConfigError("must be text", file=file, key=name, fix="put the value in quotes")
        secrets[name] = value
    return secrets


def references(text: str) -> list[str]:
    return [match[1] for match in _REFERENCE.finditer(text) if match[1] is not None]


class Variables:
    """Looks names up in the secrets, then in the environment, and remembers the values that were used."""

    def __init__(
        self, secrets: Mapping[str, str], environ: Mapping[str, str], *, personal: Mapping[str, str] | None = None
    ) -> None:
        self._secrets = secrets
        self._environ = environ
        self._personal = personal or {}  # of one of many people; first where a credential of theirs may stand
        self.asked: set[str] = set()  # names for which a person's own secrets come first, known or not
        self.substituted: set[str] = set()  # values to hide: not those put into a path, or from HOME and the like

    def fill(self, text: str, *, file: Path, key: str | None, is_path: bool, personal: bool = False) -> str:
        """Return `text` with every `${NAME}` replaced and `$${` turned into `${`; inserted text is left alone."""

        def value_of(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            name = match[1]
            if personal and not _ORDINARY.fullmatch(name):  # a variable such as PATH says how a program is found
                self.asked.add(name)
                if name in self._personal:
                    return self._personal[name]
            if not match[2] or not is_name(name):
                reason = "${ is not followed by the name of a variable and }"
                raise ConfigError(reason, file=file, key=key, fix="write $${ for a plain ${")
            if name in self._secrets:
                return self._secrets[name]
            if name not in self._environ:
                fix = f"set {name} in secrets.yaml or in the environment, or write $${{{name}}} for the text itself"
                raise UnsetVariableError(f"the variable {name} is not set", file=file, key=key, fix=fix, variable=name)
            if not is_path and not _ORDINARY.fullmatch(name):
                self.substituted.add(self._environ[name])
            return self._environ[name]

        return _REFERENCE.sub(value_of, text) if "${" in text else text
