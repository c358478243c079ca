"""Commands to a house: each succeeds only when the device itself reports the new state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from tests.zwave.client import Zwave, open_zwave
from tests.zwave_house import ZwaveHouse

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("zwave")]

SWITCH, DIMMER, LOCK = 0x25, 0x26, 0x62


@pytest.fixture
async def zwave(zwave_house: ZwaveHouse) -> AsyncIterator[Zwave]:
    async with open_zwave(zwave_house.url) as zwave:
        yield zwave


async def test_a_switch_is_on_when_the_tool_says_so(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    for on in (True, False, False, True):
        result = await zwave.call("switch", device="kitchen light", on=on)

        assert result["value"]["on"] is on
        assert result["message"] == f"Kitchen Light (Kitchen) is {'on' if on else 'off'}."
        assert zwave_house.read(2, SWITCH, "currentValue") is on


async def test_a_dimmer_goes_to_a_level_and_back_to_the_one_it_had(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    dimmed = await zwave.get("dim", device="bedroom lamp", level=40)
    off = await zwave.get("switch", device="bedroom lamp", on=False)
    on = await zwave.get("switch", device="bedroom lamp", on=True)
    full = await zwave.get("dim", device="bedroom lamp", level=100)

    assert (dimmed["on"], dimmed["level"]) == (True, 40)
    assert (off["on"], off["level"]) == (False, 0)
    assert (on["on"], on["level"]) == (True, 40)
    assert full["level"] == 100
    assert zwave_house.read(3, DIMMER, "currentValue") == 99


async def test_a_slow_device_is_waited_for(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    await zwave.get("dim", device="blind", level=0)

    moved = await zwave.get("dim", device="blind", level=80, seconds=1)

    assert moved["level"] == 80
    assert zwave_house.read(14, DIMMER, "currentValue") == 80


async def test_a_lock_locks_on_the_persons_word_and_after_the_bolt_has_moved(
    zwave: Zwave, zwave_house: ZwaveHouse
) -> None:
    locked = await zwave.call("lock", device="front door", explicit_action="LOCK")
    state = zwave_house.read(5, LOCK, "currentMode")
    unlocked = await zwave.get("unlock", device="front door", explicit_action="UNLOCK")

    assert (locked["value"]["locked"], locked["message"], state) == (True, "Front Door (Hall) is locked.", 255)
    assert unlocked["locked"] is False
    assert zwave_house.read(5, LOCK, "currentMode") == 0


async def test_a_thermostat_takes_mode_and_temperature_in_either_unit(zwave: Zwave) -> None:
    mode = await zwave.get("set_mode", device="hall thermostat", mode="heat")
    celsius = await zwave.get("set_temperature", device="hall thermostat", temperature=21.5)
    fahrenheit = await zwave.get("set_temperature", device="hall thermostat", temperature=68, unit="F")
    cooling = await zwave.get("set_temperature", device="hall thermostat", temperature=25, setpoint="COOLING")

    assert mode["mode"] == "Heat"
    assert (celsius["setpoint"], celsius["temperature"], celsius["unit"]) == ("Heating", 21.5, "°C")
    assert (fahrenheit["temperature"], fahrenheit["unit"]) == (20, "°C")
    assert (cooling["setpoint"], cooling["temperature"]) == ("Cooling", 25)


async def test_parts_of_a_device_are_switched_one_by_one(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    which = await zwave.fail("switch", device="power strip", on=True)
    wrong = await zwave.fail("switch", device="power strip", on=True, endpoint=7)
    await zwave.get("switch", device="power strip", on=True, endpoint=3)
    only = await zwave.get("dim", device="power strip", level=30)

    assert (which["error_type"], wrong["error_type"]) == ("endpoint_needed", "unknown_endpoint")
    assert "endpoints 1, 3" in which["error"]
    assert zwave_house.read(9, SWITCH, "currentValue", endpoint=3) is True
    assert only["level"] == 30


@pytest.mark.parametrize(
    ("tool", "arguments", "error_type", "text"),
    [
        ("switch", {"device": "office sensor", "on": True}, "unable", "cannot be switched on and off: it is a sensor"),
        ("dim", {"device": "kitchen light", "level": 5}, "unable", "cannot be dimmed: it is a switch"),
        ("set_temperature", {"device": "front door", "temperature": 20}, "unable", "it is a lock"),
        ("set_mode", {"device": "blind", "mode": "heat"}, "unable", "it is a dimmer"),
        ("lock", {"device": "blind", "explicit_action": "LOCK"}, "unable", "cannot be locked and unlocked"),
        ("set_temperature", {"device": 6, "temperature": 31, "setpoint": "heating"}, "bad_setting", "5 to 30 °C"),
        ("set_temperature", {"device": 6, "temperature": 20, "setpoint": "x"}, "bad_setting", "Heating or Cooling"),
        ("set_mode", {"device": 6, "mode": "party"}, "bad_setting", "Off or Heat or Cool"),
        ("refresh", {"device": "garden sensor"}, "device_asleep", "asleep"),
        ("ping", {"device": "garden sensor"}, "device_asleep", "Nothing was sent"),
    ],
)
async def test_what_a_device_cannot_do_is_said_before_anything_is_sent(
    zwave: Zwave, tool: str, arguments: dict[str, Any], error_type: str, text: str
) -> None:
    failure = await zwave.fail(tool, **arguments)

    assert failure["error_type"] == error_type
    assert text in failure["error"]


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("switch", {"device": True, "on": True}, "device: expected string | integer"),
        ("dim", {"device": 3, "level": True}, "level: expected integer"),
        ("dim", {"device": 3, "level": 5, "seconds": False}, "seconds: expected number (>= 0, <= 7200) | null"),
        ("dim", {"device": 9, "level": 5, "endpoint": True}, "endpoint: expected integer (>= 0, <= 127) | null"),
        ("set_temperature", {"device": 6, "temperature": True}, "temperature: expected number"),
    ],
)
async def test_true_is_no_number(zwave: Zwave, tool: str, arguments: dict[str, Any], text: str) -> None:
    assert f"- {text}, got boolean\n" in await zwave.refuse(tool, **arguments)


async def test_without_a_mode_a_thermostat_must_be_told_which_temperature(zwave: Zwave) -> None:
    await zwave.get("set_mode", device="hall thermostat", mode="off")

    failure = await zwave.fail("set_temperature", device="hall thermostat", temperature=20)

    assert failure["error_type"] == "bad_setting"
    assert "setpoint Heating or Cooling" in failure["error"]


async def test_a_device_that_accepts_and_does_nothing_is_no_success(zwave_house: ZwaveHouse) -> None:
    async with open_zwave(zwave_house.url, confirm_within=1) as zwave:
        failure = await zwave.fail("switch", device="stubborn plug", on=True)

    assert failure["error_type"] == "not_confirmed"
    assert "after 1 s it still reports false where true was asked for" in failure["error"]


async def test_a_failure_that_the_device_reports_is_passed_on(zwave: Zwave) -> None:
    failure = await zwave.fail("switch", device="attic fan", on=True)

    assert failure["error_type"] == "command_failed"
    assert failure["error"].startswith('"Attic Fan" was not changed')


async def test_a_device_that_goes_away_in_the_middle_is_no_success(zwave_house: ZwaveHouse) -> None:
    async with open_zwave(zwave_house.url, confirm_within=1) as zwave:
        zwave_house.do("unplug", 15)
        try:
            failure = await zwave.fail("switch", device="old plug", on=True)
        finally:
            zwave_house.do("plug", 15)
        await zwave.get("ping", device="old plug")

    assert failure["error_type"] in ("command_failed", "not_confirmed")


async def test_a_hundred_quick_commands_each_end_as_asked(zwave: Zwave, zwave_house: ZwaveHouse) -> None:
    nodes = (2, 7, 8, 12)
    ended: dict[int, list[bool]] = {node: [] for node in nodes}

    async def switch(number: int) -> None:
        node, on = nodes[number % 4], number % 8 < 4
        ended[node].append((await zwave.get("switch", device=node, on=on))["on"] is on)

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(switch, number)

    assert {node: len(states) for node, states in ended.items()} == dict.fromkeys(nodes, 25)
    assert all(all(states) for states in ended.values())
    # The commands to one device are carried out in their order, so the last one holds: 96 to 99 switch on.
    assert [zwave_house.read(node, SWITCH, "currentValue") for node in nodes] == [True] * 4
