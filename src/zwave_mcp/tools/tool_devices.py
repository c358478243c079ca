"""Tools that only look: the devices, one device's values, the sensors, and the network's health."""

from __future__ import annotations

from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from mcp_core import Result, ToolArguments
from zwave_mcp import descriptions
from zwave_mcp.answers import WHICH_DEVICE, Device, NoBoolean, answered, house_of
from zwave_mcp.devices import EVERYDAY, fold, is_sensor, list_abilities, words_of
from zwave_mcp.house import House, check_reachable
from zwave_mcp.nodes import Status

MOST_VALUES = 300
_NEWS_WITHIN = 1.0  # seconds


class DeviceDetail(TypedDict):
    """A device with its values; `total` counts those that are left out as well."""

    device: descriptions.DeviceLine
    values: list[descriptions.ValueLine]
    total: int


class Reading(TypedDict):
    """One reading of a sensor; `status` is that of its device, where that sleeps or is dead."""

    node: int
    device: str
    location: str
    sensor: str
    value: object
    unit: str | None
    updated: str | None
    text: NotRequired[str]
    endpoint: NotRequired[int]
    status: NotRequired[str]


class Pinged(TypedDict):
    """A device that was asked whether it is there; `status` is what the driver concludes."""

    node: int
    device: str
    answered: bool
    status: str


class DevicesArgs(ToolArguments):
    search: str = Field(default="", max_length=200, description="Only devices with these words in their name or place")
    ability: str = Field(default="", max_length=50, description="Only devices that are a switch, dimmer, lock, …")


class DeviceArgs(ToolArguments):
    device: Device
    everything: bool = Field(default=False, description="Include the device's configuration and inventory")


class SensorsArgs(ToolArguments):
    device: Annotated[str | int | None, NoBoolean] = Field(
        default=None, description=f"{WHICH_DEVICE}; if left out, all devices"
    )


class OneDeviceArgs(ToolArguments):
    device: Device


@ToolArguments.declare
@answered
async def devices(args: DevicesArgs, ctx: Context[House]) -> Result[list[descriptions.DeviceLine]]:
    """List the Z-Wave devices in the house: name, place, what each can do, and whether it is on, dimmed or locked."""
    house = house_of(ctx)
    await house.network.require_connection()
    words, ability = set(fold(args.search).split()), fold(args.ability)
    found = [
        descriptions.describe_device(node)
        for node in house.network.devices()
        if words <= words_of(node) and (not ability or ability in list_abilities(node))
    ]
    none = "No device matches. Call `devices` without arguments to see all of them."
    return Result.ok(found, instruction=None if found else none)


@ToolArguments.declare
@answered
async def device(args: DeviceArgs, ctx: Context[House]) -> Result[DeviceDetail]:
    """Show one Z-Wave device with its values: unit, limits, choices, and when each was last really updated."""
    house = house_of(ctx)
    node = await house.find(args.device)
    wanted = [value for value in node.values.values() if args.everything or value.id.command_class in EVERYDAY]
    dated = await house.date(wanted[:MOST_VALUES])
    several = len({value.id.endpoint for value in wanted}) > 1
    lines = [descriptions.describe_value(value, several_endpoints=several) for value in dated]
    return Result.ok({"device": descriptions.describe_device(node), "values": lines, "total": len(wanted)})


@ToolArguments.declare
@answered
async def sensors(args: SensorsArgs, ctx: Context[House]) -> Result[list[Reading]]:
    """Read the Z-Wave sensors, such as temperature or motion: values with unit and the time of their last real update.

    That time is null if unknown; it is never the time of the request. A sleeping device reports when it wakes up.
    """
    house = house_of(ctx)
    await house.network.require_connection()
    nodes = house.network.devices() if args.device is None else [await house.find(args.device)]
    found = [(node, value) for node in nodes for value in node.values.values() if is_sensor(value)]
    dated = await house.date([value for _, value in found])
    readings: list[Reading] = []
    for (node, _), value in zip(found, dated, strict=True):
        reading: Reading = {
            "node": node.id,
            "device": node.title,
            "location": node.location,
            "sensor": value.name,
            "value": value.shown,
            "unit": value.unit,
            "updated": descriptions.write_time(value.updated),
        }
        if value.text is not None:
            reading["text"] = value.text
        if value.id.endpoint:
            reading["endpoint"] = value.id.endpoint
        if node.status in (Status.ASLEEP, Status.DEAD):
            reading["status"] = node.status.value
        readings.append(reading)
    if not readings and args.device is not None:
        what = " and ".join(list_abilities(nodes[0])) or "device that reports nothing"
        return Result.ok(readings, message=f"{nodes[0].title} has no sensors: it is a {what}.")
    return Result.ok(readings)


@ToolArguments.declare
async def health(args: ToolArguments, ctx: Context[House]) -> Result[descriptions.Health]:
    """Report the state of the Z-Wave network: connection, driver, controller, statistics, dead and sleeping devices."""
    network = house_of(ctx).network
    await network.finish_first_attempt()
    return Result.ok(descriptions.describe_health(network))


@ToolArguments.declare
@answered
async def refresh(args: OneDeviceArgs, ctx: Context[House]) -> Result[DeviceDetail]:
    """Ask a Z-Wave device for all its values again, by radio; this is slow, so use it only if they look wrong."""
    house = house_of(ctx)
    node = await house.find(args.device)
    check_reachable(node)
    await house.backend.refresh(node.id)
    return await device(DeviceArgs(device=node.id), ctx)


@ToolArguments.declare
@answered
async def ping(args: OneDeviceArgs, ctx: Context[House]) -> Result[Pinged]:
    """Check whether a Z-Wave device answers; a dead device that does counts as alive again."""
    house = house_of(ctx)
    node = await house.find(args.device)
    if node.status is Status.ASLEEP:
        check_reachable(node)
    answered = await house.backend.ping(node.id)
    # What the driver concludes from it, it tells after it has answered.
    await house.network.wait_for_status(node.id, lambda status: (status is Status.DEAD) is not answered, _NEWS_WITHIN)
    current = house.network.nodes.get(node.id, node)
    return Result.ok(
        {"node": node.id, "device": node.title, "answered": answered, "status": current.status.value},
        message=f"{node.title} {'answers' if answered else 'does not answer'}.",
    )
