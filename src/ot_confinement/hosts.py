"""Hosts that a program may reach: names, addresses and networks, each with a port or with those of the web."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any, Callable, NamedTuple, Union

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

Resolve = Callable[..., "list[tuple[Any, Any, Any, Any, Any]]"]
"""`socket.getaddrinfo`."""

WEB_PORTS = (80, 443)
_NAME = re.compile(
    r"(?:\*|(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*)"
)
_LONGEST_NAME = 253
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Host(NamedTuple):
    """One entry: a name (`*.` stands for all below it, `*` for every public host) or a network, and a port."""

    name: str
    network: Network | None
    port: int | None


class RefusedHostError(Exception):
    """A host that a program may not reach; the text says why."""


def parse_host(text: str) -> Host:
    """Read `example.com`, `*.example.com`, `192.168.1.7:8080`, `10.0.0.0/8` or `[::1]:3000`; raises ValueError."""
    name, port = _split_port(text.strip().lower())
    network = _read_network(name)
    if network is None and (not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME or _looks_numeric(name)):
        raise ValueError(f"{text!r} is not a host")
    return Host(name.rstrip("."), network, port)


def _split_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        name, closed, rest = text[1:].partition("]")
        port = rest[1:] if rest.startswith(":") else ""
        if not closed or (rest and not port):
            raise ValueError(f"{text!r} is not a host")
    elif text.count(":") == 1:
        name, _, port = text.partition(":")
    else:
        return text, None
    if not port:
        return name, None
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    if not 0 < number < 65536:
        raise ValueError(f"{port!r} is not a port")
    return name, number


def _read_network(name: str) -> Network | None:
    if "%" in name:
        return None  # an interface of this machine
    try:
        return ipaddress.ip_network(name, strict=False)
    except ValueError:
        return None


def _looks_numeric(name: str) -> bool:
    """True for what only a lenient reader takes for an address: 127.1, 0x7f000001, 2130706433."""
    return bool(re.fullmatch(r"(?:0x[0-9a-f]*|[0-9]+)", name.rpartition(".")[2]))


class HostRules:
    """The hosts of one program, and where each of them leads."""

    def __init__(self, hosts: tuple[str, ...], resolve: Resolve = socket.getaddrinfo) -> None:
        self._resolve_name = resolve
        self._hosts = [parse_host(host) for host in hosts]

    def find_addresses(self, name: str, port: int) -> list[str]:
        """Return the addresses at which a program may reach a host; raises RefusedHostError, and OSError."""
        name = name.lower().rstrip(".")
        fitting = [host for host in self._hosts if port in (WEB_PORTS if host.port is None else (host.port,))]
        network = _read_network(name)
        if network is not None and network.num_addresses == 1 and "/" not in name:
            literal = network.network_address
            if not self._may_reach(literal, fitting, public=any(host.name == "*" for host in fitting)):
                raise RefusedHostError(f"{name}:{port} is not one of its allowed hosts")
            return [str(literal)]
        if _looks_numeric(name) or not any(_fits_name(host, name) for host in fitting):
            raise RefusedHostError(f"{name}:{port} is not one of its allowed hosts")
        return self._resolve(name, port, fitting)

    def _resolve(self, name: str, port: int, fitting: list[Host]) -> list[str]:
        """Resolve the name once, so that the address that was checked is the one connected to."""
        found = self._resolve_name(name, port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        allowed = [
            text
            for text in dict.fromkeys(addresses)
            if (address := _read_address(text)) is not None
            and (self._may_reach(address, fitting, public=True) or (name == "localhost" and address.is_loopback))
        ]
        if not allowed:
            raise RefusedHostError(f"{name} is {addresses[0]}, a private address that is not one of its allowed hosts")
        return allowed

    @staticmethod
    def _may_reach(address: Address, fitting: list[Host], *, public: bool) -> bool:
        if any(host.network is not None and address in host.network for host in fitting):
            return True
        return public and is_public(address)


def _fits_name(host: Host, name: str) -> bool:
    if host.network is not None:
        return False
    if host.name.startswith("*."):
        return name.endswith(host.name[1:]) and len(name) > len(host.name) - 1
    return host.name in ("*", name)


def _read_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """True for an address that is everybody's, and holds no other inside that is not."""
    inner: ipaddress.IPv4Address | None = None  # that one of version 6 leads to
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo
        inner = address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved
