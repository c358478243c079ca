"""zwave-js-ui over a real Mosquitto: every way to name topics and write payloads, with the real driver behind it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import aiomqtt
import anyio
import pytest

from tests.longer import long_after
from tests.zwave.broker import PASSWORD, USERNAME, Broker, open_broker, open_gateway
from tests.zwave.client import Zwave, open_zwave
from tests.zwave_house import ZwaveHouse

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("zwave")]

FORMS: dict[str, dict[str, Any]] = {
    "names and times": {"type": "named", "payload": "time"},
    "numbers and whole values": {"type": "valueid", "payload": "value"},
    "numbers with node names, raw": {"type": "valueid", "payload": "raw", "node_names": True},
    "names without places, no echo": {"type": "named", "payload": "time", "ignore_location": True, "echo": False},
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with open_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.mark.parametrize("form", long_after(1, FORMS.values()), ids=FORMS)
async def test_a_house_is_seen_and_controlled_in_each_form_that_a_gateway_has(
    broker: Broker, zwave_house: ZwaveHouse, form: dict[str, Any]
) -> None:
    prefix = f"z/{form['type']}-{form['payload']}-{'echo' in form}"
    with open_gateway(broker, zwave_house.url, prefix=prefix, **form):
        async with open_zwave(broker.url(prefix)) as zwave:
            devices = await zwave.get("devices")
            on = await zwave.get("switch", device="kitchen light", on=True)
            dimmed = await zwave.get("dim", device="bedroom lamp", level=25)
            locked = await zwave.get("lock", device="front door", explicit_action="LOCK")
            await zwave.get("unlock", device="front door", explicit_action="UNLOCK")
            warm = await zwave.get("set_temperature", device=6, temperature=22.5, setpoint="heating")
            part = await zwave.get("switch", device="power strip", on=True, endpoint=1)
            await zwave.get("switch", device="power strip", on=False, endpoint=1)
            failure = await zwave.fail("switch", device="attic fan", on=True)
            ambiguous = await zwave.fail("switch", device="lamp", on=True)
            pinged = await zwave.get("ping", device="süd 厨房")

            celsius = 15 + list(FORMS.values()).index(form)
            zwave_house.do("warm", 4, celsius)
            await zwave.wait_until(lambda: _is_warm(zwave, celsius))
            [reading] = [each for each in await zwave.get("sensors", device=4) if each["value"] == celsius]

    assert [device["node"] for device in devices] == list(range(2, 16))
    assert zwave_house.read(2, 0x25, "currentValue") is True
    assert (on["on"], dimmed["level"], locked["locked"], part["on"]) == (True, 25, True, True)
    assert (warm["setpoint"], warm["temperature"], warm["unit"]) == ("Heating", 22.5, "°C")
    assert (failure["error_type"], ambiguous["error_type"]) == ("command_failed", "ambiguous_device")
    assert pinged["answered"]
    assert reading["unit"] == "°C"
    assert (reading["updated"] is None) is (form["payload"] == "raw")


async def test_health_names_the_gateway_and_the_address_without_its_password(
    broker: Broker, zwave_house: ZwaveHouse, caplog: pytest.LogCaptureFixture
) -> None:
    with open_gateway(broker, zwave_house.url, prefix="h"), caplog.at_level(logging.DEBUG):
        async with open_zwave(broker.url("h")) as zwave:
            await zwave.wait_until(zwave.is_connected)
            health = await zwave.get("health")

    assert health["connection"]["address"] == f"mqtt://127.0.0.1:{broker.port}/h"
    assert health["connection"]["server"] == {"gateway": "test", "version": "11.0.0"}
    assert health["controller"]["driver_ready"]
    assert [device["name"] for device in health["asleep"]] == ["Garden Sensor"]
    assert PASSWORD not in caplog.text + json.dumps(health)


@pytest.mark.long
async def test_a_gateway_that_goes_and_comes_back_is_followed(broker: Broker, zwave_house: ZwaveHouse) -> None:
    with open_gateway(broker, zwave_house.url, prefix="g") as gateway:
        async with open_zwave(broker.url("g")) as zwave:
            await zwave.wait_until(zwave.is_connected)
            await anyio.to_thread.run_sync(gateway.kill)
            await zwave.wait_until(lambda: _is_lost(zwave))
            lost = await zwave.fail("devices")
            with open_gateway(broker, zwave_house.url, prefix="g"):
                await zwave.wait_until(zwave.is_connected)
                found = await zwave.get("switch", device="kitchen light", on=False)

    assert "the gateway test is offline" in lost["error"]
    assert found["on"] is False


@pytest.mark.long
async def test_a_broker_that_is_restarted_is_found_again(
    zwave_house: ZwaveHouse, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with open_broker(tmp_path_factory.mktemp("own")) as broker:
        async with open_zwave(broker.url()) as zwave:
            with open_gateway(broker, zwave_house.url):
                await zwave.wait_until(zwave.is_connected)
                broker.stop()
                await zwave.wait_until(lambda: _is_lost(zwave))
                lost = await zwave.fail("devices")
            broker.start()
            with open_gateway(broker, zwave_house.url):
                await zwave.wait_until(zwave.is_connected)

    assert lost["error_type"] == "not_connected"


async def test_a_driver_without_its_stick_is_told_apart(broker: Broker, zwave_house: ZwaveHouse) -> None:
    with open_gateway(broker, zwave_house.url, prefix="d"):
        async with open_zwave(broker.url("d")) as zwave:
            await zwave.wait_until(zwave.is_connected)
            await _publish(broker, "d/driver/toggle/set", "")
            await zwave.wait_until(lambda: _fails_with(zwave, "driver_not_ready"))
            await _publish(broker, "d/driver/toggle/set", "")
            await zwave.wait_until(lambda: _succeeds(zwave))


@pytest.mark.parametrize(
    ("prefix", "password", "problem"),
    [
        ("nobody/is/here", PASSWORD, "no zwave-js-ui gateway was found under nobody/is/here/"),
        ("nobody/is/here?gateway=gone", "wrong", "ot authori"),  # "Not authorized", as the broker words it
    ],
)
async def test_why_there_is_no_connection_is_said(broker: Broker, prefix: str, password: str, problem: str) -> None:
    async with open_zwave(broker.url(prefix, password=password)) as zwave:
        failure = await zwave.fail("devices")

    assert failure["error_type"] == "not_connected"
    assert problem in failure["error"]
    assert password not in failure["error"] or password == "wrong"


async def test_two_gateways_are_no_guess(broker: Broker, zwave_house: ZwaveHouse) -> None:
    with (
        open_gateway(broker, zwave_house.url, prefix="two", name="east"),
        open_gateway(broker, zwave_house.url, prefix="two", name="west"),
    ):
        async with open_zwave(broker.url("two")) as zwave:
            await zwave.wait_until(lambda: _fails_with(zwave, "not_connected", "several gateways"))
            failure = await zwave.fail("devices")
        async with open_zwave(broker.url("two?gateway=west")) as zwave:
            named = await zwave.get("devices")

    assert "(east, west)" in failure["error"]
    assert len(named) == 14


async def test_garbage_and_the_commands_of_others_are_passed_over(broker: Broker, zwave_house: ZwaveHouse) -> None:
    with open_gateway(broker, zwave_house.url, prefix="j"):
        async with open_zwave(broker.url("j")) as zwave:
            await zwave.wait_until(zwave.is_connected)
            for topic, payload in (
                ("j/Kitchen/Kitchen_Light/switch_binary/endpoint_0/currentValue", "{no JSON"),
                ("j/Kitchen/Kitchen_Light/status", "[[["),
                ("j/Kitchen/Kitchen_Light/nodeinfo", '{"id": "two"}'),
                ("j/_CLIENTS/ZWAVE_GATEWAY-test/api/getNodes", '{"success": "perhaps"}'),
                ("j/_CLIENTS/ZWAVE_GATEWAY-test/api/pollValue", '{"success": true, "origin": {"id": "a:1"}}'),
                ("j/_CLIENTS/ZWAVE_GATEWAY-test/api/getNodes/set", '{"args": []}'),
                ("j/something/nobody/knows", "1"),
                ("j/Kitchen/Kitchen_Light/switch_binary/endpoint_0/targetValue/set", "true"),
            ):
                await _publish(broker, topic, payload)
            switched = await zwave.get("switch", device="kitchen light", on=True)

    assert switched["on"]


async def _publish(broker: Broker, topic: str, payload: str) -> None:
    async with aiomqtt.Client("127.0.0.1", broker.port, username=USERNAME, password=PASSWORD) as client:
        await client.publish(topic, payload, qos=1)


async def _is_lost(zwave: Zwave) -> bool:
    return not await zwave.is_connected()


async def _is_warm(zwave: Zwave, celsius: float) -> bool:
    return any(reading["value"] == celsius for reading in await zwave.get("sensors", device=4))


async def _fails_with(zwave: Zwave, error_type: str, text: str = "") -> bool:
    result = await zwave.call("devices")
    return result.get("error_type") == error_type and text in result["error"]


async def _succeeds(zwave: Zwave) -> bool:
    return "value" in await zwave.call("devices")
