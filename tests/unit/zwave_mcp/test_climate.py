"""Thermostats: which set point is meant, in which unit, and within which limits."""

from __future__ import annotations

import math

import pytest

from tests.unit.zwave_mcp.nodes import make_node, make_setpoint
from zwave_mcp.controls import Unit, build_mode, build_temperature
from zwave_mcp.errors import BadSettingError, EndpointError, UnableError
from zwave_mcp.house import Command
from zwave_mcp.nodes import Node, Value, ValueId

MODE = ValueId(6, 0x40, 0, "mode")


def make_thermostat(mode: int | None = None, *, unit: str = "°C") -> Node:
    values = [make_setpoint(6, 1, "Heating", unit=unit), make_setpoint(6, 2, "Cooling", unit=unit)]
    if mode is not None:
        states = {"0": "Off", "1": "Heat", "2": "Cool", "11": "Energy heat"}
        values.append(Value(MODE, mode, writeable=True, states=states))
    return make_node(6, "Thermostat", "", *values)


def set_to(
    node: Node,
    temperature: float,
    unit: Unit | None = None,
    *,
    setpoint: str | None = None,
    endpoint: int | None = None,
) -> Command:
    return build_temperature(node, temperature=temperature, unit=unit, setpoint=setpoint, endpoint=endpoint)


@pytest.mark.parametrize(("mode", "key"), [(1, 1), (2, 2)])
def test_the_set_point_of_the_mode_is_meant(mode: int, key: int) -> None:
    assert set_to(make_thermostat(mode), 20).target.id.key == key


@pytest.mark.parametrize("mode", [None, 0, 11])
def test_where_the_mode_does_not_tell_it_must_be_said(mode: int | None) -> None:
    with pytest.raises(BadSettingError) as refused:
        set_to(make_thermostat(mode), 20)

    assert refused.value.expected == "setpoint Heating or Cooling"
    assert set_to(make_thermostat(mode), 20, setpoint="cooling").target.id.key == 2


@pytest.mark.parametrize(
    ("own", "temperature", "unit", "sent"),
    [("°C", 20, None, 20), ("°C", 68, "F", 20), ("°C", 70, "F", 21.1), ("°F", 20, "C", 68), ("°F", 70, "F", 70)],
)
def test_temperatures_are_sent_in_the_units_of_the_thermostat(
    own: str, temperature: float, unit: Unit | None, sent: float
) -> None:
    command = set_to(make_thermostat(1, unit=own), temperature, unit)

    assert command.value == sent
    assert command.fits(sent)
    assert command.fits(sent + 0.1)
    assert not command.fits(sent + 0.5)
    assert not command.fits(None)


@pytest.mark.parametrize(
    ("temperature", "unit"), [(4.9, None), (30.1, None), (20, "F"), (math.nan, None), (math.inf, "F")]
)
def test_what_is_out_of_its_limits_is_not_sent(temperature: float, unit: Unit | None) -> None:
    with pytest.raises(BadSettingError) as refused:
        set_to(make_thermostat(1), temperature, unit)

    assert refused.value.expected == "5 to 30 °C"


def test_parts_with_thermostats_of_their_own_must_be_named() -> None:
    node = make_node(6, "Floor", "", *(make_setpoint(6, 1, "Heating", endpoint=part) for part in (1, 2)))

    with pytest.raises(EndpointError) as refused:
        set_to(node, 20)
    with pytest.raises(EndpointError):
        set_to(node, 20, endpoint=3)

    assert refused.value.available == (1, 2)
    assert set_to(node, 20, endpoint=2).target.id.endpoint == 2


def test_modes_go_by_name() -> None:
    node = make_thermostat(1)

    assert build_mode(node, mode="energy HEAT", endpoint=None).value == 11
    with pytest.raises(BadSettingError):
        build_mode(node, mode="1", endpoint=None)
    with pytest.raises(UnableError):
        build_mode(make_thermostat(), mode="heat", endpoint=None)
