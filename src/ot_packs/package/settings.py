"""The registries that the person's pip, uv and npm use, by their files and variables, never the project's."""

from __future__ import annotations

import configparser
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from urllib.parse import quote, urlsplit

from mcp_core.json_types import Json
from ot_packs.net.values import items_of, text_of, texts_of
from ot_packs.package.registries import PUBLIC, Passwords, Registry, basic, decoded, read_registry

_VARIABLE = re.compile(r"\$\{([^}?$-]+)\??\}")
_PREFIX = "npm_config_"


@dataclass(frozen=True, slots=True)
class _NamedIndexes:
    """The indexes of one file or variable; `explicit` ones only serve packages that a project takes from them."""

    source: str
    default: str = ""
    extra: tuple[str, ...] = ()
    explicit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonIndexes:
    """In the order in which they are asked: the first that has a package answers for it."""

    asked: tuple[Registry, ...]
    explicit: tuple[Registry, ...] = ()

    def find(self, url: str) -> Registry | None:
        return next((each for each in (*self.asked, *self.explicit) if each.holds(url)), None)


def read_python_indexes(home: Path, environ: Mapping[str, str]) -> PythonIndexes:
    """Read the person's settings; blocking. pip's word comes before uv's, a variable's before a file's.

    Further indexes come before the default one, as uv has it: a name that the person's own index has is never looked up
    elsewhere. Those that are no addresses of HTTP are left out.
    """
    passwords = Passwords(home, environ)
    said = [*_of_pip(home, environ), *_of_uv(home, environ)]
    default = next((each for each in said if each.default), _NamedIndexes("", PUBLIC["pypi"][0]))
    addresses = [(address, each.source) for each in said for address in each.extra]
    asked = [*addresses, (default.default, default.source)]
    explicit = [(address, each.source) for each in said for address in each.explicit]
    return PythonIndexes(_read(asked, passwords), _read(explicit, passwords))


def _read(addresses: list[tuple[str, str]], passwords: Passwords) -> tuple[Registry, ...]:
    found = [read_registry(address, source, passwords) for address, source in addresses]
    return tuple({each.url: each for each in found if each is not None}.values())


def _of_pip(home: Path, environ: Mapping[str, str]) -> Iterator[_NamedIndexes]:
    yield _NamedIndexes("PIP_INDEX_URL", environ.get("PIP_INDEX_URL", "").strip())
    yield _NamedIndexes("PIP_EXTRA_INDEX_URL", "", tuple(environ.get("PIP_EXTRA_INDEX_URL", "").split()))
    own = environ.get("PIP_CONFIG_FILE", "")
    if own == os.devnull:
        return
    folders = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    system = (Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"))
    for file in (*([Path(own)] if own else []), folders / "pip" / "pip.conf", home / ".pip" / "pip.conf", *system):
        yield _from_pip_file(file)


def _from_pip_file(file: Path) -> _NamedIndexes:
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return _NamedIndexes(str(file))
    values: dict[str, str] = {}
    for section in filter(parser.has_section, ("global", "install")):
        values |= {key.replace("_", "-"): value for key, value in parser.items(section)}
    extra = tuple(values.get("extra-index-url", "").split())
    return _NamedIndexes(str(file), values.get("index-url", "").strip(), extra)


def _of_uv(home: Path, environ: Mapping[str, str]) -> Iterator[_NamedIndexes]:
    yield _NamedIndexes("UV_DEFAULT_INDEX", _address(environ.get("UV_DEFAULT_INDEX", ""), environ))
    yield _NamedIndexes("UV_INDEX_URL", environ.get("UV_INDEX_URL", "").strip())
    yield _NamedIndexes("UV_INDEX", "", tuple(_address(each, environ) for each in environ.get("UV_INDEX", "").split()))
    yield _NamedIndexes("UV_EXTRA_INDEX_URL", "", tuple(environ.get("UV_EXTRA_INDEX_URL", "").split()))
    if environ.get("UV_NO_CONFIG", "") not in ("", "0", "false"):
        return
    folders = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    own = environ.get("UV_CONFIG_FILE", "")
    for file in [Path(own)] if own else [folders / "uv" / "uv.toml", Path("/etc/uv/uv.toml")]:
        yield _from_uv_file(file, environ)


def _from_uv_file(file: Path, environ: Mapping[str, str]) -> _NamedIndexes:
    try:
        settings: dict[str, Json] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return _NamedIndexes(str(file))
    default, extra, explicit = text_of(settings, "index-url"), texts_of(settings, "extra-index-url"), []
    for index in items_of(settings, "index"):
        address = _address(f"{text_of(index, 'name')}={text_of(index, 'url')}", environ)
        if index.get("default") is True:
            default = address
        elif index.get("explicit") is True:
            explicit.append(address)
        else:
            extra.append(address)
    return _NamedIndexes(str(file), default, tuple(extra), tuple(explicit))


def _address(text: str, environ: Mapping[str, str]) -> str:
    """Return the address of `name=address`, with the name and the password that variables hold for it."""
    name, named, address = text.strip().partition("=")
    if not named or "/" in name:
        return text.strip()
    plain = "".join(letter if letter.isalnum() else "_" for letter in name.upper())
    user, password = (environ.get(f"UV_INDEX_{plain}_{what}", "") for what in ("USERNAME", "PASSWORD"))
    scheme, divided, rest = address.partition("://")
    if not (user or password) or not divided or "@" in rest:
        return address
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"


@dataclass(frozen=True, slots=True)
class Setting:
    value: str
    source: str


class NpmRegistries:
    def __init__(self, settings: Mapping[str, Setting]) -> None:
        self._settings = settings
        self.default = self._read(settings.get("registry")) or self._authorized(Registry(PUBLIC["npm"][0], ""))
        self._scopes = {
            name.removesuffix(":registry"): registry
            for name, setting in settings.items()
            if name.startswith("@") and name.endswith(":registry") and (registry := self._read(setting))
        }

    def of_package(self, name: str) -> Registry:
        return self._scopes.get(name.partition("/")[0], self.default)

    def find(self, url: str) -> Registry | None:
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
    program = which("npm", path=environ.get("PATH", os.defpath))  # its own folder lies beside `etc`
    installed = Path(program).parent.parent if program else "/usr/local"
    prefix = _said(variables, "prefix") or _said(users, "prefix") or installed
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
            try:
                plain = str(json.loads(plain))
            except ValueError:
                plain = plain.strip('"')
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


def _places(url: str) -> Iterator[str]:
    """Yield `//host/a/b/`, `//host/a/`, `//host/`: the longest beginning that the settings know decides."""
    parts = urlsplit(url)
    path = [part for part in parts.path.split("/") if part]
    for length in range(len(path), -1, -1):
        yield f"//{parts.netloc}/{''.join(f'{part}/' for part in path[:length])}"
