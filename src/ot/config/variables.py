"""`${NAME}` in the texts of a configuration file, and which of the values used count as secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ot.errors import ConfigError, UnsetVariableError

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}\n]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

_ORDINARY = re.compile(
    r"(HOME|PATH|PWD|OLDPWD|USER|USERNAME|LOGNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA"
    r"|SYSTEMROOT|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TZ|TMP|TEMP|TMPDIR|HOSTNAME|DISPLAY|EDITOR|VIRTUAL_ENV|PYTHONPATH"
    r"|NODE_PATH|XDG_\w+)"
)
"""Variables that are part of many answers: hiding the home folder would make paths useless."""


def references(text: str) -> list[str]:
    """Return the names in every `${NAME}` of a text."""
    return [match[1] for match in _REFERENCE.finditer(text) if match[1] is not None]


class Variables:
    """Looks names up in the secrets, then in the environment, and remembers the values that were used.

    `personal` are secrets of one of many people, which come first where a credential of theirs may stand.
    """

    def __init__(
        self, secrets: Mapping[str, str], environ: Mapping[str, str], *, personal: Mapping[str, str] | None = None
    ) -> None:
        self._secrets = secrets
        self._personal = personal or {}
        self.asked: set[str] = set()
        """The names for which a person's own secrets come first, known or not."""
        self._environ = environ
        self.substituted: set[str] = set()
        """Values to hide: those put anywhere but into a path, except from ordinary variables such as HOME."""

    def fill(self, text: str, *, file: Path, key: str | None, is_path: bool, personal: bool = False) -> str:
        """Return `text` with every `${NAME}` replaced and `$${` turned into `${`; inserted text is left alone."""

        def value_of(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            if personal and (own := self._own(match[1])) is not None:
                return own
            return self._value(match, file=file, key=key, is_path=is_path)

        return _REFERENCE.sub(value_of, text) if "${" in text else text

    def _own(self, name: str) -> str | None:
        """Return a person's own value; none for a variable such as PATH, which says how a program is found."""
        if _ORDINARY.fullmatch(name):
            return None
        self.asked.add(name)
        return self._personal.get(name)

    def _value(self, match: re.Match[str], *, file: Path, key: str | None, is_path: bool) -> str:
        name = match[1]
        if not match[2] or not _NAME.fullmatch(name):
            raise ConfigError(
                "${ is not followed by the name of a variable and }", file=file, key=key, fix="write $${ for a plain ${"
            )
        if name in self._secrets:
            return self._secrets[name]
        if name not in self._environ:
            raise UnsetVariableError(
                f"the variable {name} is not set",
                file=file,
                key=key,
                fix=f"set {name} in secrets.yaml or in the environment, or write $${{{name}}} for the text itself",
                variable=name,
            )
        if not is_path and not _ORDINARY.fullmatch(name):
            self.substituted.add(self._environ[name])
        return self._environ[name]
