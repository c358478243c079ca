"""Tools for door locks; each needs the person's explicit word."""

from __future__ import annotations

from typing import TypedDict

from mcp.server.mcpserver import Context

from mcp_core import Result, ToolArguments, requires_consent
from zwave_mcp.answers import answered, house_of
from zwave_mcp.arguments import Device, Endpoint
from zwave_mcp.health import write_time
from zwave_mcp.house import House
from zwave_mcp.locks import build_lock


class LockState(TypedDict):
    """The report of the lock after the command."""

    node: int
    device: str
    locked: bool
    updated: str | None


class LockArgs(ToolArguments):
    device: Device
    endpoint: Endpoint


@requires_consent("LOCK", effect="locks a door, which may shut somebody out or in")
async def lock(args: LockArgs, ctx: Context[House]) -> Result[LockState]:
    """Lock a Z-Wave door lock; succeeds only after the lock itself reports it."""
    return await _turn(house_of(ctx), args, locked=True)


@requires_consent("UNLOCK", effect="unlocks a door, which lets anybody in")
async def unlock(args: LockArgs, ctx: Context[House]) -> Result[LockState]:
    """Unlock a Z-Wave door lock; succeeds only after the lock itself reports it."""
    return await _turn(house_of(ctx), args, locked=False)


@answered
async def _turn(house: House, args: LockArgs, *, locked: bool) -> Result[LockState]:
    node = await house.find(args.device)
    value = await house.commander.carry_out(node, build_lock(node, locked=locked, endpoint=args.endpoint))
    state = LockState(node=node.id, device=node.title, locked=locked, updated=write_time(value.updated))
    return Result.ok(state, message=f"{node.full_title} is {'locked' if locked else 'unlocked'}.")
