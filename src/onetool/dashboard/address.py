"""The address of the dashboard: the hosts that it can be reached at, and its cookies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Address:
    """`url` is where people reach it, without a slash at the end; `hosts` are all that a request may name."""

    url: str
    hosts: frozenset[str]

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({self.url, *(f"{urlsplit(self.url).scheme}://{host}" for host in self.hosts)})

    def cookie_name(self, use: str) -> str:
        """Return the name of a cookie; browsers share cookies between the ports of a host, so the name has the port."""
        if self.secure:
            return f"__Host-onetool-{use}"
        return f"onetool-{urlsplit(self.url).port or 80}-{use}"

    def set_cookie(self, response: Response, use: str, value: str, *, seconds: float) -> None:
        """Give the browser a cookie that scripts cannot read and that other sites' forms do not carry."""
        response.set_cookie(
            self.cookie_name(use), value, max_age=int(seconds), secure=self.secure, httponly=True, samesite="lax"
        )

    def drop_cookie(self, response: Response, use: str) -> None:
        response.delete_cookie(self.cookie_name(use), secure=self.secure, httponly=True, samesite="lax")

    def read_cookie(self, header: str, use: str) -> str:
        """Return the value of a cookie; empty if there is none."""
        try:
            found = SimpleCookie(header).get(self.cookie_name(use))
        except CookieError:
            return ""
        return found.value if found is not None else ""


def address_of(url: str, hosts: Iterable[str]) -> Address:
    """Return the address of a url, of which only scheme, host and port count."""
    parts = urlsplit(url)
    return Address(f"{parts.scheme}://{parts.netloc}", frozenset({parts.netloc, *hosts}))
