"""Tools that change what a device does: switch, dim, and thermostats."""

from __future__ import annotations

from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_core import Result, ToolArguments
from zwave_mcp.answers import Confirmed, answered, confirmed, done, house_of
from zwave_mcp.arguments import Device, Endpoint, NoBoolean
from zwave_mcp.climate import Unit, build_mode, build_temperature, name_of
from zwave_mcp.house import House
from zwave_mcp.lights import build_dim, build_switch, read_percent


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
    unit: Unit | None = Field(default=None, description="C or F, if it is not the thermostat's own")
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
    house = house_of(ctx)
    node = await house.find(args.device)
    value = await house.commander.carry_out(node, build_switch(node, on=args.on, endpoint=args.endpoint))
    told = confirmed(node, value)
    answer: Switched = {"node": told["node"], "device": told["device"], "updated": told["updated"], "on": args.on}
    if not isinstance(value.value, bool):
        answer["level"] = read_percent(value.value)
    return done(node, answer, f"is {'on' if args.on else 'off'}")


@ToolArguments.declare
@answered
async def dim(args: DimArgs, ctx: Context[House]) -> Result[Dimmed]:
    """Set the level of a Z-Wave dimmer or shade in percent; succeeds only after the device reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_dim(node, percent=args.level, seconds=args.seconds, endpoint=args.endpoint)
    value = await house.commander.carry_out(node, command)
    level = read_percent(value.value)
    answer: Dimmed = {**confirmed(node, value), "on": bool(level), "level": level}
    return done(node, answer, f"is at {level} %")


@ToolArguments.declare
@answered
async def set_temperature(args: SetTemperatureArgs, ctx: Context[House]) -> Result[TemperatureSet]:
    """Set the target temperature of a Z-Wave thermostat; succeeds only after the device reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_temperature(
        node, temperature=args.temperature, unit=args.unit, setpoint=args.setpoint, endpoint=args.endpoint
    )
    value = await house.commander.carry_out(node, command)
    unit, aim = command.target.unit, value.value
    assert isinstance(aim, int | float)  # else it would not be what was asked for
    answer: TemperatureSet = {
        **confirmed(node, value),
        "setpoint": name_of(command.target),
        "temperature": aim,
        "unit": unit,
    }
    return done(node, answer, f"aims at {aim:g} {unit or ''}".strip())


@ToolArguments.declare
@answered
async def set_mode(args: SetModeArgs, ctx: Context[House]) -> Result[ModeSet]:
    """Set the mode of a Z-Wave thermostat by name; succeeds only after the device reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_mode(node, mode=args.mode, endpoint=args.endpoint)
    value = await house.commander.carry_out(node, command)
    mode = value.text or command.target.states.get(str(value.value))
    answer: ModeSet = {**confirmed(node, value), "mode": mode}
    return done(node, answer, f"is in mode {mode}")
