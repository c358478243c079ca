"""Tools for door locks; each needs the person's explicit word."""

from __future__ import annotations

from mcp.server.mcpserver import Context

from mcp_core import Result, ToolArguments, requires_consent
from zwave_mcp.answers import Confirmed, answered, confirmed, done, house_of
from zwave_mcp.arguments import Device, Endpoint
from zwave_mcp.house import House
from zwave_mcp.locks import build_lock


class Locked(Confirmed):
    """The state of a lock."""

    locked: bool


class LockArgs(ToolArguments):
    device: Device
    endpoint: Endpoint


@requires_consent("LOCK", effect="locks a door, which may lock someone out or in")
async def lock(args: LockArgs, ctx: Context[House]) -> Result[Locked]:
    """Lock a Z-Wave door lock; succeeds only after the lock itself reports it."""
    return await _turn(house_of(ctx), args, locked=True)


@requires_consent("UNLOCK", effect="unlocks a door, which lets anyone in")
async def unlock(args: LockArgs, ctx: Context[House]) -> Result[Locked]:
    """Unlock a Z-Wave door lock; succeeds only after the lock itself reports it."""
    return await _turn(house_of(ctx), args, locked=False)


@answered
async def _turn(house: House, args: LockArgs, *, locked: bool) -> Result[Locked]:
    node = await house.find(args.device)
    value = await house.commander.carry_out(node, build_lock(node, locked=locked, endpoint=args.endpoint))
    answer: Locked = {**confirmed(node, value), "locked": locked}
    return done(node, answer, f"is {'locked' if locked else 'unlocked'}")
