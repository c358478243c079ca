"""The indexes that the person's pip and uv are configured with: their files and variables, never the project's."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mcp_core.json_types import Json
from ot_packs.net.values import items_of, text_of, texts_of
from ot_packs.package.registries import PUBLIC, Passwords, Registry, read_registry

_SECTIONS = ("global", "install")


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
        """Return the index that an address lies in."""
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
    for section in filter(parser.has_section, _SECTIONS):
        values |= {key.replace("_", "-"): value for key, value in parser.items(section)}
    return _NamedIndexes(
        str(file), values.get("index-url", "").strip(), tuple(values.get("extra-index-url", "").split())
    )


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
