"""Door locks."""

from __future__ import annotations

from zwave_mcp.abilities import find_control
from zwave_mcp.commands import Command
from zwave_mcp.nodes import Node
from zwave_mcp.values import CommandClass

SECURED = 255
_UNSECURED = 0
_LOCKED = ((CommandClass.DOOR_LOCK, "targetMode"),)


def build_lock(node: Node, *, locked: bool, endpoint: int | None) -> Command:
    """Lock or unlock; what counts is the mode that the lock itself reports."""
    target = find_control(node, "locked and unlocked", _LOCKED, endpoint=endpoint)
    wanted = SECURED if locked else _UNSECURED
    # A bool is no mode, though Python takes False for 0.
    return Command(
        target, wanted, target.id.sibling("currentMode"), lambda value: type(value) is int and value == wanted
    )
