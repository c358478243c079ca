"""Switches, dimmers, door locks and thermostats: the value that each command sets, and the one that confirms it."""

from __future__ import annotations

import math
from typing import Literal, TypeGuard

from zwave_mcp.devices import find_control, fold
from zwave_mcp.errors import BadSettingError, EndpointError, UnableError
from zwave_mcp.house import Command
from zwave_mcp.nodes import CommandClass, Node, Value, state_key

FULL = 99  # of a dimmer, in the Z-Wave standard
_PREVIOUS = 255  # as a command: on, at the level it had last
SECURED, _UNSECURED = 255, 0  # modes of a lock
Unit = Literal["C", "F"]
_SWITCHED = (CommandClass.BINARY_SWITCH, "targetValue")
_DIMMED = (CommandClass.MULTILEVEL_SWITCH, "targetValue")
_MODE = (CommandClass.THERMOSTAT_MODE, "mode")
_SETPOINT = (CommandClass.THERMOSTAT_SETPOINT, "setpoint")
_SAME = 0.11  # degrees: devices round to tenths, or to halves of the other unit
_WITH_SETPOINT = {1, 2, 7, 8, 9, 10, 11, 12, 15}  # modes whose set point has the same number in the Z-Wave standard


def build_switch(node: Node, *, on: bool, endpoint: int | None) -> Command:
    """Switch on or off; a dimmer goes to the level that it had last."""
    target = find_control(node, "switched on and off", [_SWITCHED, _DIMMED], endpoint=endpoint)
    current = target.id.sibling("currentValue")
    if target.id.command_class == CommandClass.BINARY_SWITCH:
        return Command(target, on, current, lambda value: value is on)
    return Command(target, _PREVIOUS if on else 0, current, lambda value: _is_level(value) and (value > 0) is on)


def build_dim(node: Node, *, percent: int, seconds: float | None, endpoint: int | None) -> Command:
    target = find_control(node, "dimmed", [_DIMMED], endpoint=endpoint)
    level, current = min(percent, FULL), target.id.sibling("currentValue")
    return Command(target, level, current, lambda value: _is_level(value) and value == level, seconds)


def build_lock(node: Node, *, locked: bool, endpoint: int | None) -> Command:
    """Lock or unlock; what counts is the mode that the lock itself reports."""
    target = find_control(node, "locked and unlocked", [(CommandClass.DOOR_LOCK, "targetMode")], endpoint=endpoint)
    wanted, current = SECURED if locked else _UNSECURED, target.id.sibling("currentMode")
    # A bool is no mode, though Python takes False for 0.
    return Command(target, wanted, current, lambda value: type(value) is int and value == wanted)


def read_percent(value: object) -> int | None:
    """Return the level of a dimmer in percent: its 99 is all there is."""
    if not _is_level(value):
        return None
    return 100 if value >= FULL else round(value)


def _is_level(value: object) -> TypeGuard[float]:
    """True if this is a level of a dimmer, as opposed to a state that it does not know."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= FULL


def build_temperature(
    node: Node, *, temperature: float, unit: Unit | None, setpoint: str | None, endpoint: int | None
) -> Command:
    """Set a set point: the one that is named, else that of the mode the thermostat is in, else its only one."""
    target = _choose_setpoint(node, setpoint, endpoint)
    degrees = _convert(node, target, temperature, unit)
    low, high = target.minimum, target.maximum
    if (low is not None and degrees < low) or (high is not None and degrees > high):
        raise BadSettingError(node.title, f"{degrees:g}{target.unit or ''}", describe_limits(target))

    def is_near(value: object) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value - degrees) < _SAME

    return Command(target, degrees, target.id, is_near)


def build_mode(node: Node, *, mode: str, endpoint: int | None) -> Command:
    target = find_control(node, "set to a thermostat mode", [_MODE], endpoint=endpoint)
    number = {fold(name): number for number, name in target.states.items()}.get(fold(mode))
    if number is None or not number.isdecimal():
        raise BadSettingError(node.title, f'"{mode}"', " or ".join(target.states.values()) or "no mode at all")
    return Command(target, int(number), target.id, lambda value: state_key(value) == number)


def describe_limits(target: Value) -> str:
    unit = target.unit or ""
    if target.minimum is None or target.maximum is None:
        return f"a temperature in {unit}" if unit else "a temperature"
    return f"{target.minimum:g} to {target.maximum:g} {unit}".strip()


def list_setpoints(node: Node) -> list[Value]:
    """List the set points that can be set, in the order of their numbers."""
    found = [value for value in node.values.values() if value.writeable and value.id.is_of(*_SETPOINT)]
    return sorted(found, key=lambda value: (value.id.endpoint, str(value.id.key)))


def name_of(target: Value) -> str:
    if target.key_name:
        return target.key_name
    _, _, inside = target.label.partition("(")  # "Setpoint (Heating)"
    return inside.rstrip(")") or target.name


def _choose_setpoint(node: Node, named: str | None, endpoint: int | None) -> Value:
    wish = "set to a temperature"
    known = [value for value in list_setpoints(node) if endpoint in (None, value.id.endpoint)]
    if not known:
        return find_control(node, wish, [_SETPOINT], endpoint=endpoint)  # says what the device can do, and where
    if named is not None:
        known = [value for value in known if fold(name_of(value)) == fold(named)]
        if not known:
            raise BadSettingError(node.title, f'the set point "{named}"', _name_all(list_setpoints(node)))
    elif len(known) > 1:
        mode = next((value.value for value in node.values.values() if value.id.is_of(*_MODE)), None)
        known = [value for value in known if value.id.key == mode and mode in _WITH_SETPOINT] or known
    endpoints = sorted({value.id.endpoint for value in known})
    if len(endpoints) > 1:
        raise EndpointError(node.title, wish, None, tuple(endpoints))
    if len(known) > 1:
        raise BadSettingError(node.title, "a temperature without saying which", f"setpoint {_name_all(known)}")
    return known[0]


def _name_all(setpoints: list[Value]) -> str:
    return " or ".join(dict.fromkeys(name_of(value) for value in setpoints))


def _convert(node: Node, target: Value, temperature: float, unit: Unit | None) -> float:
    own = (target.unit or "").strip().lstrip("°").upper()
    if not math.isfinite(temperature):
        raise BadSettingError(node.title, str(temperature), describe_limits(target))
    if unit is None or not own or unit == own:
        return temperature
    if own not in ("C", "F"):
        raise UnableError(node.title, f"set in °{unit}", (f"thermostat in {target.unit}",))
    return round(temperature * 9 / 5 + 32 if own == "F" else (temperature - 32) * 5 / 9, 1)
