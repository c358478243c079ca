"""Which addresses a request of a model's code may go to: none in the person's own network, however it is spelt."""

from __future__ import annotations

import functools
import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from ot.errors import ToolError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS = {"http": 80, "https": 443}
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\.?$")  # the last label of a host that a resolver may take for an address
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa", "localdomain")
_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that was ever given to anybody
_TRANSLATOR = ipaddress.IPv6Network("64:ff9b::/96")  # through which IPv6 reaches all of IPv4
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")  # the same by another way; from 3.13 on Python calls it private
_TRANSLATED = tuple(map(ipaddress.IPv6Network, (_TRANSLATOR, "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")))
"""Prefixes of IPv6 addresses whose last four bytes are an IPv4 address that somebody else turns them into."""

# Ports of other protocols, which could be made to believe a request: those that browsers refuse.
_OTHER_PROTOCOLS = {
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
    540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
    6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
}  # fmt: skip


class AddressRefusedError(ToolError):
    def __init__(self, address: str, reason: str, *, host: str = "", key: str = "") -> None:
        way = f" A person can allow it by adding {host!r} to {key}." if host else ""
        super().__init__(f"{address[:200]} is refused: {reason}.{way}")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: a host in its plain form, and a port."""

    host: str
    port: int


class Allowed:
    """The hosts, hosts with ports and networks that the person allows with an option such as `packs.web.allow`."""

    def __init__(self, entries: Iterable[str] = (), *, key: str = "packs.web.allow") -> None:
        self.key = key
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        self._hosts: set[tuple[str, int | None]] = set()
        for entry in entries:
            try:
                self._networks.append(ipaddress.ip_network(entry.strip("[]")))
            except ValueError:
                host, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
                if not host or (port and not port.isdigit()):
                    raise ToolError(f"{key}: {entry!r} is not a host, a host with a port, or a network") from None
                self._hosts.add((host.lower().rstrip("."), int(port) if port else None))

    def names(self, target: Target) -> bool:
        """True if a host is opened by its name, so that its addresses are not looked at."""
        return (target.host, target.port) in self._hosts or (target.host, None) in self._hosts

    def contains(self, address: IPAddress) -> bool:
        return any(address.version == network.version and address in network for network in self._networks)


def read_allowed(pack: str, config: Mapping[str, object]) -> Allowed:
    allow, key = config.get("allow", []), f"packs.{pack}.allow"
    if not isinstance(allow, list | tuple) or not all(isinstance(entry, str) for entry in allow):
        raise ToolError(f"{key} is not a list of hosts, hosts with ports, or networks")
    return Allowed(allow, key=key)


@functools.lru_cache(maxsize=256)  # before a page is looked for, and again before each request
def read_target(url: str, allowed: Allowed) -> Target:
    """Return where a URL leads, before any name is resolved; raises AddressRefusedError."""
    if re.search(r"[\x00-\x20\x7f\\]", url):  # blanks, control characters, backslashes
        raise AddressRefusedError(url, "it contains a blank, a control character or a backslash, which is ambiguous")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise AddressRefusedError(url, str(error)) from error
    if parts.scheme not in _PORTS:
        raise AddressRefusedError(url, f"{parts.scheme or 'an address without a scheme'!s} is neither http nor https")
    if parts.username is not None or parts.password is not None:
        raise AddressRefusedError(url, "it contains a user name, which hides the host; pass credentials as a header")
    target = Target(_plain_host(url, parts), _port(url, parts))
    if not allowed.names(target):
        _check_host(url, target, allowed.key)
    return target


def check_address(target: Target, address: str, allowed: Allowed) -> None:
    """Refuse an address that a name was resolved to, if it is not one of the open internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if allowed.names(target) or allowed.contains(found):
        return
    through = any(found in network for network in (_TRANSLATOR, _SIX_TO_FOUR))
    for each in (*_embedded(found), *(() if through else (found,))):
        if kind := _kind_of(each):
            shown = target.host if str(found) == target.host else f"{target.host} ({found})"
            raise AddressRefusedError(shown, f"{each} is {kind}", host=target.host, key=allowed.key)


def _plain_host(url: str, parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise AddressRefusedError(url, "it names no host")
    if ":" in host:
        if "%" in host:
            raise AddressRefusedError(url, "it names an interface of this machine")
        return host
    try:
        # An international name as resolvers take it; letters that only look like others become those.
        plain = unicodedata.normalize("NFKC", host).replace("\u3002", ".").lower() if not host.isascii() else host
        plain = plain if plain.isascii() else plain.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise AddressRefusedError(url, f"{host!r} is not a host name") from error
    if not re.fullmatch(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?", plain):
        raise AddressRefusedError(url, f"{host!r} is not a host name")
    return plain


def _port(url: str, parts: SplitResult) -> int:
    try:
        return parts.port if parts.port is not None else _PORTS[parts.scheme]
    except ValueError as error:
        raise AddressRefusedError(url, "its port is not a number from 0 to 65535") from error


def _check_host(url: str, target: Target, key: str) -> None:
    host = target.host
    if target.port in _OTHER_PROTOCOLS or target.port == 0:
        reason = f"port {target.port} belongs to another protocol"
        raise AddressRefusedError(url, reason, host=f"{host}:{target.port}", key=key)
    if host.endswith(_LOCAL_NAMES) and any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        raise AddressRefusedError(url, f"{host} is a name in the local network", host=host, key=key)
    if ":" not in host and "." not in host and not _NUMBER.match(host):
        raise AddressRefusedError(url, f"{host} without a dot is a name in the local network", host=host, key=key)
    if _NUMBER.search(host.rpartition(".")[2]):
        try:
            ipaddress.ip_address(host)
        except ValueError:
            reason = f"{host} is an unusual spelling of an address; write four decimal numbers"
            raise AddressRefusedError(url, reason) from None


def _embedded(address: IPAddress) -> Iterator[IPAddress]:
    """The IPv4 addresses that an IPv6 address stands for on its way."""
    if isinstance(address, ipaddress.IPv6Address) and not (address.is_loopback or address.is_unspecified):
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())))
        if any(address in network for network in _TRANSLATED):
            yield ipaddress.IPv4Address(address.packed[-4:])


def _kind_of(address: IPAddress) -> str:
    """Say what an address is, if it is not one of the open internet."""
    kinds = {
        "the machine itself": address.is_loopback or address.is_unspecified,
        "link-local, where clouds keep credentials": address.is_link_local,
        "for many receivers": address.is_multicast,
        "in a private network": address.is_private,
        "reserved": address.is_reserved
        or not address.is_global
        or (isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST),
    }
    return next((kind for kind, holds in kinds.items() if holds), "")
