"""Tools that change what a device does: switches, dimmers, thermostats, and door locks, which need consent."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_core import Result, ToolArguments, requires_consent
from zwave_mcp import controls
from zwave_mcp.answers import Confirmed, Device, Endpoint, NoBoolean, answered, confirmed, done, house_of
from zwave_mcp.house import House


class Switched(Confirmed):
    """The state of a switch; `level` in percent if it is a dimmer."""

    on: bool
    level: NotRequired[int | None]


class Dimmed(Confirmed):
    """The state of a dimmer; `level` in percent."""

    on: bool
    level: int | None


class TemperatureSet(Confirmed):
    """The set point of a thermostat."""

    setpoint: str
    temperature: float
    unit: str | None


class ModeSet(Confirmed):
    """The mode of a thermostat."""

    mode: str | None


class Locked(Confirmed):
    """The state of a lock."""

    locked: bool


class LockArgs(ToolArguments):
    device: Device
    endpoint: Endpoint


class SwitchArgs(ToolArguments):
    device: Device
    on: bool = Field(description="true for on, false for off")
    endpoint: Endpoint


class DimArgs(ToolArguments):
    device: Device
    level: Annotated[int, NoBoolean] = Field(ge=0, le=100, description="Percent: 0 is off, 100 is full")
    seconds: Annotated[float | None, NoBoolean] = Field(
        default=None, ge=0, le=7200, description="How long the change should take; if left out, the device decides"
    )
    endpoint: Endpoint


class SetTemperatureArgs(ToolArguments):
    device: Device
    temperature: Annotated[float, NoBoolean] = Field(description="In the thermostat's own unit, or in `unit`")
    unit: controls.Unit | None = Field(default=None, description="C or F, if it is not the thermostat's own")
    setpoint: str | None = Field(
        default=None, max_length=100, description="Heating, Cooling, …; if left out, that of its current mode"
    )
    endpoint: Endpoint


class SetModeArgs(ToolArguments):
    device: Device
    mode: str = Field(max_length=100, description="Name of a mode that the thermostat has, such as Heat or Off")
    endpoint: Endpoint


@ToolArguments.declare
@answered
async def switch(args: SwitchArgs, ctx: Context[House]) -> Result[Switched]:
    """Switch a light, a plug or another Z-Wave device on or off; succeeds only after the device itself reports it.

    A dimmer that is switched on returns to its last level.
    """
    build = partial(controls.build_switch, on=args.on, endpoint=args.endpoint)
    node, value, _ = await house_of(ctx).carry_out(args.device, build)
    answer: Switched = {**confirmed(node, value), "on": args.on, "level": controls.read_percent(value.value)}
    if isinstance(value.value, bool):
        del answer["level"]
    return done(node, answer, f"is {'on' if args.on else 'off'}")


@ToolArguments.declare
@answered
async def dim(args: DimArgs, ctx: Context[House]) -> Result[Dimmed]:
    """Set the level of a Z-Wave dimmer or shade in percent; succeeds only after the device reports it."""
    build = partial(controls.build_dim, percent=args.level, seconds=args.seconds, endpoint=args.endpoint)
    node, value, _ = await house_of(ctx).carry_out(args.device, build)
    level = controls.read_percent(value.value)
    return done(node, {**confirmed(node, value), "on": bool(level), "level": level}, f"is at {level} %")


@ToolArguments.declare
@answered
async def set_temperature(args: SetTemperatureArgs, ctx: Context[House]) -> Result[TemperatureSet]:
    """Set the target temperature of a Z-Wave thermostat; succeeds only after the device reports it."""
    build = partial(controls.build_temperature, temperature=args.temperature, unit=args.unit, setpoint=args.setpoint)
    node, value, target = await house_of(ctx).carry_out(args.device, partial(build, endpoint=args.endpoint))
    aim, name, unit = value.value, controls.name_of(target), target.unit
    assert isinstance(aim, int | float)  # else it would not be what was asked for
    answer: TemperatureSet = {**confirmed(node, value), "setpoint": name, "temperature": aim, "unit": unit}
    return done(node, answer, f"is set to {aim:g} {unit or ''}".strip())


@ToolArguments.declare
@answered
async def set_mode(args: SetModeArgs, ctx: Context[House]) -> Result[ModeSet]:
    """Set the mode of a Z-Wave thermostat by name; succeeds only after the device reports it."""
    build = partial(controls.build_mode, mode=args.mode, endpoint=args.endpoint)
    node, value, target = await house_of(ctx).carry_out(args.device, build)
    mode = value.text or target.states.get(str(value.value))
    return done(node, {**confirmed(node, value), "mode": mode}, f"is in {mode} mode")


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
    build = partial(controls.build_lock, locked=locked, endpoint=args.endpoint)
    node, value, _ = await house.carry_out(args.device, build)
    return done(node, {**confirmed(node, value), "locked": locked}, f"is {'locked' if locked else 'unlocked'}")
