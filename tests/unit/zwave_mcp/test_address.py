"""Where the Z-Wave server is: addresses as people write them, and what of them is shown."""

from __future__ import annotations

import pytest

from zwave_mcp.address import BadAddressError, parse_address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ws://localhost:3000", "ws://localhost:3000/"),
        ("ws://zwave", "ws://zwave:3000/"),
        ("wss://user:pass@zwave/zjs?token=abcdef", "wss://zwave:443/zjs"),
        ("ws://[::1]:3000", "ws://[::1]:3000/"),
        ("mqtt://broker", "mqtt://broker:1883/zwave"),
        ("mqtt://user:p%40ss%2Fword@broker:1884/house/zwave/", "mqtt://broker:1884/house/zwave"),
        ("mqtts://broker/z?gateway=ZWAVE_GATEWAY-office", "mqtts://broker:8883/z"),
    ],
)
def test_an_address_is_shown_without_its_secrets(text: str, shown: str) -> None:
    address = parse_address(text)

    assert address.shown == shown
    for secret in address.secrets:
        assert secret not in address.shown + repr(address)


def test_the_parts_of_an_mqtt_address_are_read_as_they_were_meant() -> None:
    address = parse_address("mqtts://us%3Aer:p%40ss@broker/my%20house?gateway=office")

    assert (address.kind, address.host, address.port, address.secure) == ("mqtt", "broker", 8883, True)
    assert (address.username, address.password) == ("us:er", "p@ss")
    assert (address.prefix, address.gateway) == ("my house", "office")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with"),
        ("http://house", "must begin with"),
        ("localhost:3000", "must begin with"),
        ("ws://", "has no host"),
        ("ws://house:99999", "not an address"),
        ("ws://[::1", "not an address"),
        ("mqtt://broker/a/+/b", "wildcard"),
        ("mqtt://broker/z?name=x", "only ?gateway= is"),
    ],
)
def test_a_wrong_address_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadAddressError) as refused:
        parse_address(text)

    assert reason in refused.value.reason


def test_a_wrong_address_does_not_tell_its_password() -> None:
    with pytest.raises(BadAddressError) as refused:
        parse_address("http://user:hidden-word@house")

    assert "hidden-word" not in str(refused.value)
