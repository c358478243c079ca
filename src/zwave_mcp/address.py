"""The address of the Z-Wave server: ws://host:3000, or mqtt://user:password@host/prefix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

Kind = Literal["websocket", "mqtt"]

_WEBSOCKET = {"ws": 3000, "wss": 443}
_MQTT = {"mqtt": 1883, "mqtts": 8883}
_DEFAULT_PREFIX = "zwave"  # what zwave-js-ui begins its topics with, unless told otherwise


@dataclass(eq=False)
class BadAddressError(ValueError):
    """An address that cannot be one; the reason never holds the password."""

    reason: str


@dataclass(frozen=True, slots=True)
class Address:
    """An address in its parts; `path` and `query` are for a WebSocket, `prefix` and `gateway` for MQTT."""

    kind: Kind
    host: str
    port: int
    secure: bool = False
    path: str = "/"
    query: str = field(default="", repr=False)  # where a reverse proxy may want a token
    username: str = ""
    password: str = field(default="", repr=False)
    prefix: str = ""
    gateway: str = ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The parts that must not be logged."""
        return tuple(secret for secret in (self.password, self.query) if secret)

    @property
    def shown(self) -> str:
        """The address without user and password: for logs and people."""
        scheme = {"websocket": "ws", "mqtt": "mqtt"}[self.kind] + ("s" if self.secure else "")
        host = f"[{self.host}]" if ":" in self.host else self.host
        path = self.path if self.kind == "websocket" else f"/{self.prefix}"
        return f"{scheme}://{host}:{self.port}{path}"


def parse_address(text: str) -> Address:
    """Read an address; raises BadAddressError."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise BadAddressError("it is not an address") from None
    schemes = {**_WEBSOCKET, **_MQTT}
    if parts.scheme not in schemes:
        raise BadAddressError(f"it must begin with {', '.join(f'{scheme}://' for scheme in schemes)}")
    if not parts.hostname:
        raise BadAddressError("it names no host")
    port = port or schemes[parts.scheme]
    return _parse_mqtt(parts, port) if parts.scheme in _MQTT else _parse_websocket(parts, port)


def _parse_websocket(parts: SplitResult, port: int) -> Address:
    return Address(
        "websocket",
        parts.hostname or "",
        port,
        secure=parts.scheme == "wss",
        path=parts.path or "/",
        query=parts.query,
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def _parse_mqtt(parts: SplitResult, port: int) -> Address:
    prefix = unquote(parts.path).strip("/") or _DEFAULT_PREFIX
    query = parse_qs(parts.query, keep_blank_values=True)
    if unknown := sorted(query.keys() - {"gateway"}):
        raise BadAddressError(f"it has {unknown[0]!r} after the question mark, where only gateway= can be")
    if any(character in prefix for character in "+#\0"):
        raise BadAddressError("its prefix holds a wildcard")
    return Address(
        "mqtt",
        parts.hostname or "",
        port,
        secure=parts.scheme == "mqtts",
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        prefix=prefix,
        gateway=query.get("gateway", [""])[0].removeprefix("ZWAVE_GATEWAY-"),
    )
