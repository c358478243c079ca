"""The secrets of a person, `${NAME}` in the texts of a file, and which of the values used no answer may show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Self

from ot import config
from ot.config.documents import Documents, RememberedFiles
from ot.config.keys import dotted
from ot.errors import ConfigError, KeychainError, UnsetVariableError

SHORTEST_HIDDEN = 6  # shorter values are not replaced in answers: they would hit ordinary words
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}\n]*)(\}?)")
_KEYCHAIN = "keyring:"
_NOT_FOR_PROJECTS = "a project's file gets nothing from your keychain"

_ORDINARY = re.compile(
    r"(HOME|PATH|PWD|OLDPWD|USER|USERNAME|LOGNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA"
    r"|SYSTEMROOT|SHELL|LANG|LANGUAGE|LC_\w+|TERM|TZ|TMP|TEMP|TMPDIR|HOSTNAME|DISPLAY|EDITOR|VIRTUAL_ENV|PYTHONPATH"
    r"|NODE_PATH|XDG_\w+)"
)
"""Variables that are part of many answers: hiding the home folder would make paths useless."""


class Deferred(str):
    """A text that is not whole yet: it still has `${keyring:NAME}` in it, which the keychain fills when it is used."""

    __slots__ = ("_complete", "known")
    _complete: Callable[[Callable[[str], None]], str]
    known: str | None  # the last text that was read

    def __new__(cls, text: str, complete: Callable[[Callable[[str], None]], str]) -> Self:
        deferred = super().__new__(cls, text)
        deferred._complete = complete
        deferred.known = None
        return deferred

    def read(self, learn: Callable[[str], None] = lambda _: None) -> str:
        """Return the whole text; `learn` is told of each secret in it. It blocks, and raises KeychainError."""
        self.known = self._complete(learn)
        return self.known


def whole(text: str, learn: Callable[[str], None]) -> str:
    """Return a text with what the keychain has for it; raises KeychainError. It may block."""
    return text.read(learn) if isinstance(text, Deferred) else text


def keychain_reference(name: str) -> str:
    return f"${{{_KEYCHAIN}{name}}}"


class Secrets:
    """Values by name, for the calls that may use them, and the set of values that no answer may show."""

    __slots__ = ("_environ", "_known", "_project", "_values", "unreadable")

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        *,
        project: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        substituted: Iterable[str] = (),
        unreadable: bool = False,
    ) -> None:
        self.unreadable = unreadable  # the person has others of their own, which cannot be opened at present
        self._values = dict(values or {})
        self._project = dict(project or {})  # for what is not the project's, only where the person has none
        self._environ = {name: value for name, value in (environ or {}).items() if value}  # an empty one is not set
        hidden = {*self._values.values(), *self._project.values(), *substituted}
        hidden = {value for value in hidden if not isinstance(value, Deferred)}
        self._known = frozenset(value for value in hidden if len(value) >= SHORTEST_HIDDEN)

    def has(self, name: str) -> bool:
        """True if there is a value for OneTool itself, which may still be in the keychain."""
        return bool(_first(name, self._values, self._environ, self._project))

    def get(self, name: str) -> str | None:
        """Return the value for OneTool itself: from the person's `secrets.yaml`, the environment, the project's.

        One in the keychain is what `deferred` has given last; without that it is read, which blocks. Raises
        KeychainError.
        """
        return _value_of(_first(name, self._values, self._environ, self._project))

    def deferred(self, names: Iterable[str]) -> list[Deferred]:
        """Return those of the person's secrets that are in the keychain, to be read before they are used."""
        found = (self._values.get(name) for name in names)
        return [value for value in found if isinstance(value, Deferred)]

    def for_extension(self, name: str, *, of_project: bool) -> str | None:
        """Return the value for an extension: from the `secrets.yaml` beside it first, never from the environment."""
        if not of_project:
            return _value_of(_first(name, self._values, self._project))
        found = _first(name, self._project, self._values)
        return None if isinstance(found, Deferred) else found  # the keychain is not for projects

    def overlaid(self, values: Mapping[str, str], *, unreadable: bool = False) -> Secrets:
        merged = {**self._values, **values}
        return Secrets(
            merged, project=self._project, environ=self._environ, substituted=self._known, unreadable=unreadable
        )

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


def _value_of(value: str | None) -> str | None:
    if not isinstance(value, Deferred):
        return value
    return value.read() if value.known is None else value.known


def read_secrets(file: Path | None, documents: Documents | None = None, *, keychain: bool = True) -> dict[str, str]:
    """Read the names and values in a file; none where there is no file.

    Without `keychain` it is the file of a project, which may not refer to an entry of it.
    """
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
        entry = _entry_of(value)
        if value != keychain_reference(entry):
            secrets[name] = value
        elif keychain and is_name(entry):
            secrets[name] = Deferred(value, partial(_read_entry, entry))
        else:
            reason = "the keychain has only names of letters, digits and _" if keychain else _NOT_FOR_PROJECTS
            raise KeychainError(reason, file=file, key=name, fix="write the value itself")
    return secrets


def _entry_of(reference: str) -> str:
    return reference[len(_KEYCHAIN) + 2 : -1]


def _read_entry(name: str, learn: Callable[[str], None]) -> str:
    value = config.read_entry(name)  # loaded here: few have a keychain
    learn(value)
    return value


def references(text: str) -> list[str]:
    return [match[1] for match in _REFERENCE.finditer(text) if match[1] is not None]


class Variables:
    """Looks names up in the secrets, then in the environment, and remembers the values that were used."""

    def __init__(
        self,
        secrets: Mapping[str, str],
        environ: Mapping[str, str],
        *,
        personal: Mapping[str, str] | None = None,
        keychain: bool = True,
    ) -> None:
        self._secrets = secrets
        self._environ = environ
        self._keychain = keychain  # a project's files get nothing from it
        self._personal = personal or {}  # of one of many people; first where a credential of theirs may stand
        self.asked: set[str] = set()  # names for which a person's own secrets come first, known or not
        self.substituted: set[str] = set()  # values to hide: not those put into a path, or from HOME and the like
        self.entries: set[str] = set()  # of the keychain, that the texts name

    def fill(self, text: str, *, file: Path, key: str | None, is_path: bool, personal: bool = False) -> str:
        """Return `text` with every `${NAME}` replaced and `$${` turned into `${`; inserted text is left alone.

        Where it stands for a credential, what is in the keychain is left for later, as a `Deferred`.
        """
        if "${" not in text:
            return text
        noted: list[str] = []

        def leave(entry: str) -> str:
            noted.append(entry)
            return keychain_reference(entry)

        place = partial(self._fill, text, file=file, key=key, is_path=is_path, personal=personal)
        filled = place(leave)
        if not noted:
            return filled
        self.entries.update(noted)
        if not self._keychain:
            fix = "put the value into the secrets.yaml of the project, or the entry into your own file"
            raise KeychainError(_NOT_FOR_PROJECTS, file=file, key=key, fix=fix)

        def complete(learn: Callable[[str], None]) -> str:
            def read(entry: str) -> str:
                try:
                    return _read_entry(entry, learn)
                except KeychainError as error:
                    raise KeychainError(error.reason, file=file, key=key, fix=error.fix) from error

            return place(read)

        return Deferred(filled, complete) if personal else complete(self.substituted.add)

    def _fill(
        self, text: str, stored: Callable[[str], str], *, file: Path, key: str | None, is_path: bool, personal: bool
    ) -> str:
        """Replace the references in a text; `stored` is asked for what is in the keychain."""

        def value_of(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            name = match[1]
            if personal and not _ORDINARY.fullmatch(name):  # a variable such as PATH says how a program is found
                self.asked.add(name)
                if name in self._personal:
                    return self._personal[name]
            if not match[2] or not is_name(name.removeprefix(_KEYCHAIN)):
                reason = "${ is not followed by the name of a variable and }"
                raise ConfigError(reason, file=file, key=key, fix="write $${ for a plain ${")
            if name.startswith(_KEYCHAIN):
                return stored(_entry_of(match[0]))
            if name in self._secrets:
                value = self._secrets[name]
                return stored(_entry_of(value)) if isinstance(value, Deferred) else value
            if name not in self._environ:
                fix = f"set {name} in secrets.yaml or in the environment, or write $${{{name}}} for the text itself"
                raise UnsetVariableError(f"the variable {name} is not set", file=file, key=key, fix=fix, variable=name)
            if not is_path and not _ORDINARY.fullmatch(name):
                self.substituted.add(self._environ[name])
            return self._environ[name]

        return _REFERENCE.sub(value_of, text)
