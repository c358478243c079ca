"""The registries that the person's npm is configured with: their files and variables, never the project's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from urllib.parse import urlsplit

from ot_packs.package.registries import PUBLIC, Registry, basic, decoded, read_registry

_VARIABLE = re.compile(r"\$\{([^}?$-]+)\??\}")
_PREFIX = "npm_config_"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value, and the file or variable that says it."""

    value: str
    source: str


class NpmRegistries:
    """The default registry, and those of scopes."""

    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self._settings = settings
        self.default = self._read(settings.get("registry")) or self._authorized(Registry(PUBLIC["npm"][0], ""))
        self._scopes = {
            name.removesuffix(":registry"): registry
            for name, setting in settings.items()
            if name.startswith("@") and name.endswith(":registry") and (registry := self._read(setting))
        }

    def of_package(self, name: str) -> Registry:
        """Return the registry that the person has a package from."""
        return self._scopes.get(name.partition("/")[0], self.default)

    def find(self, url: str) -> Registry | None:
        """Return the registry that an address lies in."""
        return next((each for each in (*self._scopes.values(), self.default) if each.holds(url)), None)

    def _read(self, setting: Setting | None) -> Registry | None:
        found = read_registry(setting.value, setting.source) if setting else None
        return found if found is None or found.authorization else self._authorized(found)

    def _authorized(self, registry: Registry) -> Registry:
        """Return the registry with what the settings hold for the longest beginning of its address."""
        for place in _places(registry.url):
            for header, source in self._proofs(place):
                return Registry(registry.url, registry.source, header, source)
        return registry

    def _proofs(self, place: str) -> Iterator[tuple[str, str]]:
        """Yield headers for the addresses that begin with `//host/path/`, and where each of them stands."""
        if token := self._settings.get(f"{place}:_authToken"):
            unset = _VARIABLE.search(token.value)
            missing = f", where {unset[0]} is not set" if unset else ""
            yield "" if unset else f"Bearer {token.value}", f"{token.source} ({place}:_authToken{missing})"
        if token := self._settings.get(f"{place}:_auth"):
            yield f"Basic {token.value}", f"{token.source} ({place}:_auth)"
        user, password = (self._settings.get(f"{place}:{what}") for what in ("username", "_password"))
        if user and password:
            yield basic(user.value, decoded(password.value)), f"{password.source} ({place}:_password)"


def read_npm_registries(home: Path, environ: Mapping[str, str]) -> NpmRegistries:
    """Read the person's settings; blocking. A variable's word comes before that of their file, and of the machine's."""
    variables = dict(_from_environment(environ))
    own = Path(_said(variables, "userconfig") or home / ".npmrc")
    users = _from_file(own, environ)
    prefix = _said(variables, "prefix") or _said(users, "prefix") or _prefix(environ)
    shared = Path(_said(variables, "globalconfig") or _said(users, "globalconfig") or Path(prefix) / "etc" / "npmrc")
    return NpmRegistries(_from_file(shared, environ) | users | variables)


def read_npmrc(text: str, source: str, environ: Mapping[str, str]) -> dict[str, Setting]:
    """Read the text of an .npmrc; variables in it that are not set stay as they are."""
    found: dict[str, Setting] = {}
    for line in text.splitlines():
        name, divided, value = line.partition("=")
        if not divided or line.lstrip()[:1] in ("#", ";", "["):
            continue
        plain = value.strip()
        if plain[:1] == '"':
            plain = _unquoted(plain)
        found[_expanded(name.strip(), environ)] = Setting(_expanded(plain, environ), source)
    return found


def _expanded(text: str, environ: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: environ.get(match[1], match[0]), text)


def _from_file(file: Path, environ: Mapping[str, str]) -> dict[str, Setting]:
    try:
        return read_npmrc(file.read_text(encoding="utf-8"), str(file), environ)
    except (OSError, UnicodeDecodeError):
        return {}


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Setting]]:
    for name, value in environ.items():
        if name.lower().startswith(_PREFIX) and value:
            key = name[len(_PREFIX) :]
            yield key if key[:1] in ("/", "@") else key.lower().replace("_", "-"), Setting(value, name)


def _said(settings: Mapping[str, Setting], name: str) -> str:
    found = settings.get(name)
    return os.path.expanduser(found.value) if found else ""  # noqa: PTH111 - a text, which may be empty


def _prefix(environ: Mapping[str, str]) -> str:
    """Return where npm is installed: its own folder lies beside `etc`."""
    program = which("npm", path=environ.get("PATH", os.defpath))
    return str(Path(program).parent.parent) if program else "/usr/local"


def _places(url: str) -> Iterator[str]:
    """Yield `//host/a/b/`, `//host/a/`, `//host/`: the longest beginning that the settings know decides."""
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    for length in range(len(path), -1, -1):
        yield f"//{parts.netloc}/{''.join(f'{part}/' for part in path[:length])}"


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text.strip('"')
