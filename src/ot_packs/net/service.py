"""A service that a pack calls: where it is, which key it wants, how often it may be asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ot.errors import KeyRefusedError, ToolError


@dataclass(frozen=True, slots=True)
class Service:
    """A service as its pack knows it; the person's options may set another address and another rate."""

    pack: str
    name: str
    base_url: str
    secret: str  # the name of the secret that holds the key
    page: str  # where a person gets a key
    header: str = "authorization"  # carries the key
    scheme: str = "Bearer "
    key_required: bool = True
    rate: float = 10.0  # requests a second
    patience: float = 30.0  # seconds without a byte
    statuses_of_key: frozenset[int] = frozenset({401, 403})  # a refused key
    words_of_key: tuple[str, ...] = ()  # codes in an answer of another status that say the same


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The person's options for a service."""

    base_url: str
    rate: float


def read_service_options(service: Service, config: Mapping[str, object]) -> ServiceOptions:
    """Read `packs.NAME`; raises ToolError with the key that is wrong."""
    base_url = config.get("base_url", service.base_url)
    if not isinstance(base_url, str) or not _is_address(base_url):
        raise ToolError(f"packs.{service.pack}.base_url is not an address such as {service.base_url}")
    rate = config.get("rate", service.rate)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
        raise ToolError(f"packs.{service.pack}.rate is not a number of requests a second, such as 1 or 0.5")
    return ServiceOptions(base_url.rstrip("/"), float(rate))


def check_key(key: str, service: str, secret: str, page: str) -> None:
    """Raise KeyRefusedError if no header can carry a key."""
    if not key.isascii() or not key.isprintable() or key != key.strip():
        reason = "it contains white space or non-ASCII characters, and was not sent"
        raise KeyRefusedError(service, reason, secret, page)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return bool(named) and not parts.query and not parts.fragment and text.isascii() and text.isprintable()
