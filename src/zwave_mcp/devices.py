"""Devices: found by the names that people give them, and what each can do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from mcp_core.nearest_names import likeness
from zwave_mcp.errors import AmbiguousDeviceError, Candidate, EndpointError, UnableError, UnknownDeviceError
from zwave_mcp.nodes import CommandClass, Node, Value

_ABILITIES: tuple[tuple[str, int, str], ...] = (
    ("switch", CommandClass.BINARY_SWITCH, "targetValue"),
    ("dimmer", CommandClass.MULTILEVEL_SWITCH, "targetValue"),
    ("lock", CommandClass.DOOR_LOCK, "targetMode"),
    ("thermostat", CommandClass.THERMOSTAT_SETPOINT, "setpoint"),
    ("thermostat", CommandClass.THERMOSTAT_MODE, "mode"),
)
_SENSORS = {
    CommandClass.BINARY_SENSOR,
    CommandClass.MULTILEVEL_SENSOR,
    CommandClass.METER,
    CommandClass.NOTIFICATION,
    CommandClass.BATTERY,
    CommandClass.THERMOSTAT_OPERATING_STATE,
}
EVERYDAY = _SENSORS | {  # classes of daily use, not of the configuration or the inventory
    CommandClass.BINARY_SWITCH,
    CommandClass.MULTILEVEL_SWITCH,
    CommandClass.DOOR_LOCK,
    CommandClass.THERMOSTAT_MODE,
    CommandClass.THERMOSTAT_SETPOINT,
}
_SEPARATORS = re.compile(r"[\s/\\,:;|>_.·–—-]+")
_NUMBER = re.compile(r"(?:node |# ?)?(\d{1,5})")
_NEAREST = 5
_SHOWN = 40


def list_abilities(node: Node) -> tuple[str, ...]:
    """Name what a device is: switch, dimmer, lock, thermostat, sensor, battery."""
    found = [
        ability
        for ability, command_class, name in _ABILITIES
        if any(value.writeable and value.id.is_of(command_class, name) for value in node.values.values())
    ]
    sensors = {value.id.command_class for value in node.values.values() if is_sensor(value)}
    if sensors - {CommandClass.BATTERY, CommandClass.THERMOSTAT_OPERATING_STATE}:
        found.append("sensor")
    if CommandClass.BATTERY in sensors:
        found.append("battery")
    return tuple(dict.fromkeys(found))


def is_sensor(value: Value) -> bool:
    if value.id.command_class not in _SENSORS or not value.readable or value.writeable or value.secret:
        return False
    match value.id.command_class:
        case CommandClass.BATTERY:
            return value.id.property in ("level", "isLow")
        case CommandClass.NOTIFICATION:
            return bool(value.states)  # the raw numbers of old alarms say nothing to a person
        case CommandClass.METER:
            return value.id.property == "value"
    return True


def find_control(node: Node, wish: str, choices: Iterable[tuple[int, str]], *, endpoint: int | None) -> Value:
    """Find the value to set for what `wish` completes ("cannot be …"); `choices` are tried in their order.

    A device may have several such parts, its endpoints: then one must be named, unless the device itself, endpoint 0,
    is one of them. Raises UnableError and EndpointError.
    """
    writeable = [value for value in node.values.values() if value.writeable]
    for command_class, name in choices:
        found = {value.id.endpoint: value for value in writeable if value.id.is_of(command_class, name)}
        if not found:
            continue
        several = endpoint is None and len(found) > 1 and 0 not in found
        chosen = min(found) if endpoint is None else endpoint
        if several or chosen not in found:
            raise EndpointError(node.title, wish, endpoint, tuple(sorted(found)))
        return found[chosen]
    raise UnableError(node.title, wish, list_abilities(node))


def find_device(wanted: str | int, devices: Sequence[Node]) -> Node:
    """Find the one device that is meant; raises UnknownDeviceError and AmbiguousDeviceError.

    A name that is a device's whole name, alone or with its place, comes first; then its number; then words that only
    one device has all of, so that "kitchen" is enough where there is one device.
    """
    form = fold(str(wanted))
    matches = [node for node in devices if form and form in _full_names(node)] if isinstance(wanted, str) else []
    if not matches and (number := _NUMBER.fullmatch(form)):
        matches = [node for node in devices if node.id == int(number[1])]
    if not matches and form:
        matches = [node for node in devices if words_of(node).issuperset(form.split())]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise AmbiguousDeviceError(str(wanted), tuple(map(_describe, matches[:_SHOWN])))
    nearest = sorted(devices, key=lambda node: -max(likeness(form, name) for name in _full_names(node)))[:_NEAREST]
    raise UnknownDeviceError(str(wanted), nearest=tuple(map(_describe, nearest)), total=len(devices))


def fold(name: str) -> str:
    """Return one form for all names that a person would call the same."""
    once = unicodedata.normalize("NFKC", name).casefold()
    # Folding may write what has another normal form, and the other way round.
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold())).strip()


def words_of(node: Node) -> set[str]:
    return set(f"{fold(node.location)} {fold(node.title)}".split())


def _describe(node: Node) -> Candidate:
    return Candidate(node.id, node.title, node.location, list_abilities(node))


def _full_names(node: Node) -> set[str]:
    name, place = fold(node.title), fold(node.location)
    return {name, f"{place} {name}".strip(), f"{name} {place}".strip()}
