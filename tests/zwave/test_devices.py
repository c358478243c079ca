"""What can be seen of a house: devices, values, sensors and health, over the real driver and server of zwave-js."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.zwave.client import Zwave, open_zwave
from tests.zwave_house import ZwaveHouse

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("zwave")]


@pytest.fixture
async def zwave(zwave_house: ZwaveHouse) -> AsyncIterator[Zwave]:
    async with open_zwave(zwave_house.url) as zwave:
        yield zwave


async def test_every_device_is_listed_and_the_controller_is_none(zwave: Zwave) -> None:
    devices = await zwave.get("devices")

    assert [device["node"] for device in devices] == list(range(2, 16))
    by_node = {device["node"]: device for device in devices}
    assert (by_node[2]["name"], by_node[2]["location"], by_node[2]["abilities"]) == (
        "Kitchen Light",
        "Kitchen",
        ["switch"],
    )
    assert by_node[5]["abilities"] == ["lock"]
    assert isinstance(by_node[5]["locked"], bool)
    assert by_node[6]["abilities"] == ["thermostat"]
    assert by_node[9]["endpoints"] == [1, 2, 3]
    assert "on" not in by_node[9]  # it has several such states
    assert by_node[10]["status"] == "asleep"
    assert (by_node[12]["name"], by_node[12]["location"]) == ("Süd 厨房", "Küche")


@pytest.mark.parametrize(
    ("arguments", "nodes"),
    [
        ({"search": "lamp"}, [3, 7, 8]),
        ({"search": "LAMP guest"}, [8]),
        ({"ability": "lock"}, [5]),
        ({"search": "office", "ability": "sensor"}, [4]),
        ({"search": "no such thing"}, []),
    ],
)
async def test_the_list_can_be_narrowed(zwave: Zwave, arguments: dict[str, str], nodes: list[int]) -> None:
    assert [device["node"] for device in await zwave.get("devices", **arguments)] == nodes


async def test_a_sensor_tells_unit_and_the_time_of_its_last_report_not_that_of_asking(
    zwave: Zwave, zwave_house: ZwaveHouse
) -> None:
    first = await _read_temperature(zwave)
    again = await _read_temperature(zwave)

    before = datetime.now(UTC)
    zwave_house.do("warm", 4, 23.5)
    await zwave.wait_until(lambda: _is_warm(zwave, 23.5))
    after = await _read_temperature(zwave)

    assert (first["unit"], first["updated"]) == ("°C", again["updated"])
    assert datetime.fromisoformat(first["updated"]) < before
    assert datetime.fromisoformat(after["updated"]) >= before - timedelta(seconds=1)


async def test_a_value_that_was_never_heard_has_no_time(zwave: Zwave) -> None:
    shown = await zwave.get("device", device="Power Strip")

    never = [value for value in shown["values"] if value["value"] is None]
    assert never
    assert {value["updated"] for value in never} == {None}


async def test_what_a_sleeping_sensor_said_last_can_still_be_read(zwave: Zwave) -> None:
    [reading] = await zwave.get("sensors", device="garden sensor")

    assert (reading["sensor"], reading["value"], reading["status"]) == ("Air temperature", 7.5, "asleep")
    assert reading["updated"] is not None


async def test_a_device_that_measures_nothing_says_what_it_is(zwave: Zwave) -> None:
    result = await zwave.call("sensors", device="Kitchen Light")

    assert (result["value"], result["message"]) == ([], "Kitchen Light has no sensors: it is a switch.")


async def test_a_device_shows_what_its_values_accept(zwave: Zwave) -> None:
    shown = await zwave.get("device", device="hall thermostat")

    values = {value["name"]: value for value in shown["values"]}
    heating = values["Setpoint (Heating)"]
    assert (heating["unit"], heating["min"], heating["max"], heating["writeable"]) == ("°C", 5, 30, True)
    assert values["Thermostat mode"]["choices"] == ["Off", "Heat", "Cool"]
    everything = await zwave.get("device", device="hall thermostat", everything=True)
    assert everything["total"] > shown["total"]


async def test_health_tells_connection_driver_and_who_is_asleep(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    health = await zwave.get("health")

    assert health["healthy"], health["problems"]
    assert health["connection"]["state"] == "connected"
    assert health["connection"]["address"] == f"{zwave_house.url}/"
    assert health["controller"]["driver_ready"]
    assert health["controller"]["home_id"] == "0x7e570001"
    assert health["controller"]["statistics"]["messagesRX"] > 0
    assert health["devices"]["total"] == 14
    assert [(device["name"], bool(device["last_seen"])) for device in health["asleep"]] == [("Garden Sensor", True)]


async def test_an_unplugged_device_is_dead_until_it_answers_again(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    zwave_house.do("unplug", 15)
    try:
        gone = await zwave.get("ping", device="old plug")
        health = await zwave.get("health")
        refused = await zwave.fail("switch", device="old plug", on=True)
    finally:
        zwave_house.do("plug", 15)
    back = await zwave.get("ping", device="old plug")

    assert (gone["answered"], gone["status"]) == (False, "dead")
    assert [device["name"] for device in health["dead"]] == ["Old Plug"]
    assert health["problems"] == ["Dead: Old Plug."]
    assert refused["error_type"] == "device_dead"
    assert "Nothing was sent" in refused["error"]
    assert (back["answered"], back["status"]) == (True, "alive")


async def test_a_device_can_be_asked_for_its_values_anew(zwave: Zwave) -> None:
    before = (await zwave.get("device", device="office sensor"))["values"]
    after = (await zwave.get("refresh", device="office sensor"))["values"]

    oldest = min(value["updated"] for value in after if value["updated"])
    assert oldest > min(value["updated"] for value in before if value["updated"])


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("Kitchen Light", 2),
        ("kitchen  LIGHT", 2),
        ("kitchen", 2),
        (2, 2),
        ("2", 2),
        ("node 2", 2),
        ("Living Room Lamp", 7),
        ("living room / lamp", 7),
        ("Lamp, Guest Room", 8),
        ("süd 厨房", 12),
        ("KÜCHE", 12),
    ],
)
async def test_a_device_is_found_as_people_call_it(zwave: Zwave, name: str | int, node: int) -> None:
    assert (await zwave.get("device", device=name))["device"]["node"] == node


async def test_a_name_that_several_devices_have_is_no_guess(zwave: Zwave) -> None:
    failure = await zwave.fail("switch", device="Lamp", on=True)

    assert failure["error_type"] == "ambiguous_device"
    assert failure["error"] == (
        '"Lamp" matches several devices: node 7 "Lamp" in "Living Room" (switch);'
        ' node 8 "Lamp" in "Guest Room" (switch).'
    )


@pytest.mark.parametrize(
    ("name", "nearest"), [("Kitchen Ligth", "Kitchen Light"), ("forn door", "Front Door"), ("", "")]
)
async def test_an_unknown_name_is_answered_with_the_nearest(zwave: Zwave, name: str, nearest: str) -> None:
    failure = await zwave.fail("device", device=name)

    assert failure["error_type"] == "unknown_device"
    assert nearest in failure["error"].partition(";")[0]


@pytest.mark.parametrize("number", [1, 0, 255, 99, -1])
async def test_the_controller_and_addresses_for_everybody_are_no_devices(zwave: Zwave, number: int) -> None:
    assert (await zwave.fail("device", device=number))["error_type"] == "unknown_device"


async def _read_temperature(zwave: Zwave) -> dict[str, Any]:
    readings: list[dict[str, Any]] = await zwave.get("sensors", device="Office Sensor")
    return next(reading for reading in readings if reading["sensor"] == "Air temperature")


async def _is_warm(zwave: Zwave, celsius: float) -> bool:
    return bool((await _read_temperature(zwave))["value"] == celsius)
