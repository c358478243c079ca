"""The address of the Z-Wave server: ws://host:3000, or mqtt://user:password@host/prefix."""

from __future__ import annotations

from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

from mcp_core.facts_error import FactsError
from mcp_core.quick_dataclass import dataclass, field, replace

Kind = Literal["websocket", "mqtt"]
_PORTS = {"ws": 3000, "wss": 443, "mqtt": 1883, "mqtts": 8883}


class BadAddressError(FactsError):
    """An address that cannot be used; the reason never contains the password."""

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
    if parts.scheme not in _PORTS:
        raise BadAddressError(f"it must begin with {', '.join(f'{scheme}://' for scheme in _PORTS)}")
    if not parts.hostname:
        raise BadAddressError("it has no host")
    kind: Kind = "mqtt" if parts.scheme.startswith("mqtt") else "websocket"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    secure = parts.scheme in ("wss", "mqtts")
    address = Address(kind, parts.hostname, port or _PORTS[parts.scheme], secure, username=user, password=password)
    if kind == "websocket":
        return replace(address, path=parts.path or "/", query=parts.query)
    prefix = unquote(parts.path).strip("/") or "zwave"  # what zwave-js-ui begins its topics with, unless told otherwise
    query = parse_qs(parts.query, keep_blank_values=True)
    if unknown := sorted(query.keys() - {"gateway"}):
        raise BadAddressError(f"{unknown[0]!r} is not a known option; only ?gateway= is")
    if any(character in prefix for character in "+#\0"):
        raise BadAddressError("its prefix contains a wildcard")
    return replace(address, prefix=prefix, gateway=query.get("gateway", [""])[0].removeprefix("ZWAVE_GATEWAY-"))
