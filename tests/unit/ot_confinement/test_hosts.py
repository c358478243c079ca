"""Which hosts an entry of `confine.hosts` opens, and what a name may lead to."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

import pytest

from ot_confinement.hosts import HostRules, RefusedHostError, is_public, parse_host


@pytest.mark.parametrize(
    "text",
    [
        "example.com",
        "*.example.com",
        "*",
        "EXAMPLE.com:8443",
        "10.0.0.0/8",
        "192.168.1.7:80",
        "[::1]:3000",
        "::1",
        "a_b.c",
    ],
)
def test_a_host_is_a_name_an_address_or_a_network(text: str) -> None:
    parse_host(text)


@pytest.mark.parametrize(
    "text",
    ["", "http://example.com", "example.com/", "a b", "example.com:0", "example.com:99999", "example.com:x", "127.1",
     "0x7f000001", "2130706433", "*.*", "a.*.b", "fe80::1%lo", "-a.com", "user@example.com", "[::1", "[::1]3"],
)  # fmt: skip
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_host(text)


PUBLIC = "93.184.216.34"


def rules_for(hosts: Sequence[str], *addresses: str) -> HostRules:
    """Rules where every name leads to these addresses, as its owner may decide from one moment to the next."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]
    return HostRules(tuple(hosts), lambda *_, **__: found)


@pytest.mark.parametrize(
    ("hosts", "name", "port", "opened"),
    [
        (["example.com"], "example.com", 443, True),
        (["example.com"], "EXAMPLE.com.", 80, True),
        (["example.com"], "example.com", 22, False),
        (["example.com:22"], "example.com", 22, True),
        (["example.com:22"], "example.com", 443, False),
        (["example.com"], "www.example.com", 443, False),
        (["example.com"], "example.com.evil.org", 443, False),
        (["*.example.com"], "www.example.com", 443, True),
        (["*.example.com"], "a.b.example.com", 443, True),
        (["*.example.com"], "example.com", 443, False),
        (["*.example.com"], "evilexample.com", 443, False),
        (["*.example.com"], ".example.com", 443, False),
        (["*"], "anything.org", 443, True),
        (["*"], PUBLIC, 443, True),
        (["example.com"], PUBLIC, 443, False),
        (["10.0.0.0/8:5432"], "10.1.2.3", 5432, True),
        (["10.0.0.0/8:5432"], "10.1.2.3", 443, False),
        (["*"], "10.1.2.3", 443, False),
        (["*"], "127.1", 443, False),
        (["*"], "169.254.169.254", 80, False),
        (["*"], "::ffff:127.0.0.1", 80, False),
        (["*"], "64:ff9b::7f00:1", 80, False),
        (["*"], "2002:7f00:1::", 80, False),
    ],
    ids=str,
)
def test_a_host_is_opened_by_its_name_and_port(hosts: list[str], name: str, port: int, *, opened: bool) -> None:
    rules = rules_for(hosts, PUBLIC)

    if opened:
        assert rules.find_addresses(name, port)
    else:
        with pytest.raises(RefusedHostError):
            rules.find_addresses(name, port)


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "0.0.0.0", "224.0.0.1"]
)
def test_a_name_that_leads_to_a_private_address_opens_nothing(address: str) -> None:
    with pytest.raises(RefusedHostError, match="a private address that is not one of its allowed hosts"):
        rules_for(["example.com", "*"], address).find_addresses("example.com", 443)


def test_a_private_address_that_is_named_too_is_opened_with_its_name() -> None:
    assert rules_for(["nas.local", "10.0.0.7"], "10.0.0.7", "10.0.0.8").find_addresses("nas.local", 443) == ["10.0.0.7"]


def test_localhost_is_this_machine_where_it_is_named() -> None:
    assert rules_for(["localhost:3000"], "127.0.0.1").find_addresses("localhost", 3000) == ["127.0.0.1"]


def test_localhost_elsewhere_is_nobody() -> None:
    with pytest.raises(RefusedHostError):
        rules_for(["localhost"], "10.0.0.7").find_addresses("localhost", 443)


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_an_address_of_everybody_is_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))
