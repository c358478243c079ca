"""A registry of packages that the person has configured, with what proves to it who they are."""

from __future__ import annotations

import base64
import netrc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

PUBLIC = {
    "pypi": ("https://pypi.org/simple", "https://files.pythonhosted.org"),
    "npm": ("https://registry.npmjs.org", "https://registry.yarnpkg.com"),
}
"""Addresses of the public registries, for which the person's own default stands; the first is that default, unless
they name another."""


@dataclass(frozen=True, slots=True)
class Registry:
    """`authorization` is a header for its own address and no other; `source` is the file or variable that names it."""

    url: str  # without a slash at its end
    source: str
    authorization: str = ""
    token_source: str = ""  # where the token stands, or should

    @property
    def origin(self) -> str:
        return origin_of(self.url)

    def secrets(self) -> Iterator[str]:
        """Yield what must not be shown: the token, or the password with the name and without."""
        scheme, _, token = self.authorization.partition(" ")
        if token:
            yield token
        if token and scheme == "Basic":
            yield decoded(token).partition(":")[2]

    def holds(self, url: str) -> bool:
        return url.rstrip("/") == self.url or url.startswith(f"{self.url}/")


def origin_of(url: str) -> str:
    """Return the scheme, the host and the port of an address; "" if it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname and port else ""


def plain_address(address: str) -> str:
    """Return an address without a user, a password and a slash at its end; "" if it is none."""
    if not origin_of(address):
        return ""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def is_public(kind: str, url: str) -> bool:
    """True for an address of the public registry, or for none."""
    return not url or any(url.rstrip("/") == each or url.startswith(f"{each}/") for each in PUBLIC[kind])


def read_registry(address: str, source: str, passwords: Passwords | None = None) -> Registry | None:
    """Read an address, which may hold a user and a password; None if it is not one of HTTP."""
    if not origin_of(address) or not address.startswith(("http://", "https://")):
        return None
    parts, plain = urlsplit(address), plain_address(address)
    if parts.username is not None:
        return Registry(plain, source, basic(unquote(parts.username), unquote(parts.password or "")), source)
    found = passwords.of(parts.hostname or "") if passwords is not None else None
    return Registry(plain, source, basic(*found), passwords.source) if passwords and found else Registry(plain, source)


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def decoded(text: str) -> str:
    """Return what is written in base64; the text itself if it is not."""
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except ValueError:
        return text


class Passwords:
    """The person's netrc file; one that cannot be read counts as empty. Blocking."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.source = environ.get("NETRC") or str(home / ".netrc")
        try:
            self._hosts = netrc.netrc(self.source).hosts
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
            self._hosts = {}

    def of(self, host: str) -> tuple[str, str] | None:
        found = self._hosts.get(host)
        return (found[0], found[2] or "") if found else None
