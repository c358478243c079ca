"""Switches, dimmers and door locks: the value that each command sets, and the one that confirms it."""

from __future__ import annotations

from typing import TypeGuard

from zwave_mcp.abilities import find_control
from zwave_mcp.commands import Command
from zwave_mcp.nodes import Node
from zwave_mcp.values import CommandClass

FULL = 99  # of a dimmer, in the Z-Wave standard
_PREVIOUS = 255  # as a command: on, at the level it had last
SECURED, _UNSECURED = 255, 0  # modes of a lock

_SWITCHED = ((CommandClass.BINARY_SWITCH, "targetValue"), (CommandClass.MULTILEVEL_SWITCH, "targetValue"))
_DIMMED = ((CommandClass.MULTILEVEL_SWITCH, "targetValue"),)
_LOCKED = ((CommandClass.DOOR_LOCK, "targetMode"),)


def build_switch(node: Node, *, on: bool, endpoint: int | None) -> Command:
    """Switch on or off; a dimmer goes to the level that it had last."""
    target = find_control(node, "switched on and off", _SWITCHED, endpoint=endpoint)
    current = target.id.sibling("currentValue")
    if target.id.command_class == CommandClass.BINARY_SWITCH:
        return Command(target, on, current, lambda value: value is on)
    return Command(target, _PREVIOUS if on else 0, current, lambda value: _is_level(value) and (value > 0) is on)


def build_dim(node: Node, *, percent: int, seconds: float | None, endpoint: int | None) -> Command:
    """Go to a level, within so many seconds."""
    target = find_control(node, "dimmed", _DIMMED, endpoint=endpoint)
    level = min(percent, FULL)
    current = target.id.sibling("currentValue")
    return Command(target, level, current, lambda value: _is_level(value) and value == level, seconds)


def build_lock(node: Node, *, locked: bool, endpoint: int | None) -> Command:
    """Lock or unlock; what counts is the mode that the lock itself reports."""
    target = find_control(node, "locked and unlocked", _LOCKED, endpoint=endpoint)
    wanted = SECURED if locked else _UNSECURED
    # A bool is no mode, though Python takes False for 0.
    return Command(
        target, wanted, target.id.sibling("currentMode"), lambda value: type(value) is int and value == wanted
    )


def read_percent(value: object) -> int | None:
    """Return the level of a dimmer in percent: its 99 is all there is."""
    if not _is_level(value):
        return None
    return 100 if value >= FULL else round(value)


def _is_level(value: object) -> TypeGuard[float]:
    """True if this is a level of a dimmer, as opposed to a state that it does not know."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= FULL
