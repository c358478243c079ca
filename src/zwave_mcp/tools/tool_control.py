"""Tools that change what a device does: switch, dim, and thermostats."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_core import Result, ToolArguments
from zwave_mcp.answers import answered, house_of
from zwave_mcp.arguments import Device, Endpoint, NoBoolean
from zwave_mcp.climate import Unit, build_mode, build_temperature, name_of
from zwave_mcp.health import write_time
from zwave_mcp.house import House
from zwave_mcp.lights import build_dim, build_switch, read_percent


class SwitchState(TypedDict):
    """The report of the device after the command."""

    node: int
    device: str
    on: bool
    level: NotRequired[int | None]
    updated: str | None


class ThermostatState(TypedDict):
    """The report of the thermostat after the command."""

    node: int
    device: str
    mode: NotRequired[str | None]
    setpoint: NotRequired[str]
    temperature: NotRequired[float]
    unit: NotRequired[str | None]
    updated: str | None


class SwitchArgs(ToolArguments):
    device: Device
    on: bool = Field(description="true for on, false for off")
    endpoint: Endpoint


class DimArgs(ToolArguments):
    device: Device
    level: Annotated[int, NoBoolean] = Field(ge=0, le=100, description="Percent: 0 is off, 100 is full")
    seconds: Annotated[float | None, NoBoolean] = Field(
        default=None, ge=0, le=7200, description="How long the change should take; as the device likes where left out"
    )
    endpoint: Endpoint


class SetTemperatureArgs(ToolArguments):
    device: Device
    temperature: Annotated[float, NoBoolean] = Field(description="In the thermostat's own unit, or in `unit`")
    unit: Unit | None = Field(default=None, description="C or F, if it is not the thermostat's own")
    setpoint: str | None = Field(
        default=None, max_length=100, description="Heating, Cooling, …; that of its mode where left out"
    )
    endpoint: Endpoint


class SetModeArgs(ToolArguments):
    device: Device
    mode: str = Field(max_length=100, description="Name of a mode that the thermostat has, such as Heat or Off")
    endpoint: Endpoint


@ToolArguments.declare
@answered
async def switch(args: SwitchArgs, ctx: Context[House]) -> Result[SwitchState]:
    """Switch a Z-Wave device on or off; succeeds only after the device itself reports it.

    A dimmer that is switched on goes to the level it had last.
    """
    house = house_of(ctx)
    node = await house.find(args.device)
    value = await house.commander.carry_out(node, build_switch(node, on=args.on, endpoint=args.endpoint))
    state = SwitchState(node=node.id, device=node.title, on=args.on, updated=write_time(value.updated))
    if not isinstance(value.value, bool):
        state["level"] = read_percent(value.value)
    return Result.ok(state, message=f"{node.full_title} is {'on' if args.on else 'off'}.")


@ToolArguments.declare
@answered
async def dim(args: DimArgs, ctx: Context[House]) -> Result[SwitchState]:
    """Set the level of a Z-Wave dimmer, or the position of a shade, in percent; succeeds only after it reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_dim(node, percent=args.level, seconds=args.seconds, endpoint=args.endpoint)
    value = await house.commander.carry_out(node, command)
    level = read_percent(value.value)
    state = SwitchState(node=node.id, device=node.title, on=bool(level), level=level, updated=write_time(value.updated))
    return Result.ok(state, message=f"{node.full_title} is at {level} %.")


@ToolArguments.declare
@answered
async def set_temperature(args: SetTemperatureArgs, ctx: Context[House]) -> Result[ThermostatState]:
    """Set the temperature that a Z-Wave thermostat aims at; succeeds only after it reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_temperature(
        node, temperature=args.temperature, unit=args.unit, setpoint=args.setpoint, endpoint=args.endpoint
    )
    value = await house.commander.carry_out(node, command)
    state = ThermostatState(
        node=node.id,
        device=node.title,
        setpoint=name_of(command.target),
        temperature=value.value,
        unit=command.target.unit,
        updated=write_time(value.updated),
    )
    return Result.ok(
        state, message=f"{node.full_title} aims at {value.value:g} {command.target.unit or ''}".strip() + "."
    )


@ToolArguments.declare
@answered
async def set_mode(args: SetModeArgs, ctx: Context[House]) -> Result[ThermostatState]:
    """Set the mode of a Z-Wave thermostat by name; succeeds only after it reports it."""
    house = house_of(ctx)
    node = await house.find(args.device)
    command = build_mode(node, mode=args.mode, endpoint=args.endpoint)
    value = await house.commander.carry_out(node, command)
    mode = value.text or command.target.states.get(str(value.value))
    state = ThermostatState(node=node.id, device=node.title, mode=mode, updated=write_time(value.updated))
    return Result.ok(state, message=f"{node.full_title} is in mode {mode}.")
