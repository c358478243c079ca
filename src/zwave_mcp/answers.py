"""Answers of tools: the arguments that several take, the values a device reports, and errors in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, TypeVar

from mcp.server.mcpserver import Context
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from mcp_core import Report, Result, answer_in_words, quote_name
from zwave_mcp import errors
from zwave_mcp.descriptions import write_time
from zwave_mcp.house import House
from zwave_mcp.nodes import Node, Status, Value

WHICH_DEVICE = "Node number, name, or place and name; case does not matter"


def word_error(error: errors.ZwaveError) -> Report:
    match error:
        case errors.UnknownDeviceError(total=0):
            text = f"There is no device {quote_name(error.wanted)}. The network has no devices at all."
            return Report(text, "unknown_device")
        case errors.UnknownDeviceError():
            text = f"There is no device {quote_name(error.wanted)}. The closest of {error.total}: "
            text += f"{_list_candidates(error.nearest)}."
            return Report(text, "unknown_device", "Call `devices` to see all.")
        case errors.AmbiguousDeviceError():
            names = _list_candidates(error.candidates)
            text = f"{quote_name(error.wanted)} matches several devices: {names}."
            return Report(text, "ambiguous_device", "Ask which one is meant, or use its node number.")
        case errors.UnableError():
            what = " and ".join(error.abilities)
            why = f"it is a {what}" if what else "it has nothing that can be set"
            return Report(f"{quote_name(error.device)} cannot be {error.wish}: {why}.", "unable")
        case errors.EndpointError():
            return _endpoint(error)
        case errors.BadSettingError():
            text = f"{quote_name(error.device)} does not accept {error.given}; it accepts {error.expected}."
            return Report(text, "bad_setting")
        case errors.UnreachableError():
            return _unreachable(error)
    return _word_failure(error)


def _word_failure(error: errors.ZwaveError) -> Report:
    match error:
        case errors.NotConnectedError():
            text = f"Not connected to the Z-Wave server at {error.address}: {error.problem or 'still connecting'}."
            return Report(text, "not_connected", "It reconnects by itself; call `health` for its state.")
        case errors.DriverNotReadyError():
            text = "The Z-Wave server is running, but the driver of its controller is not ready."
            return Report(text, "driver_not_ready", "Try again in a moment; call `health` for its state.")
        case errors.ConnectionLostError():
            lost = f"The connection was lost before {error.request} was answered"
            hint = "Check the device's values before you try again."
            return Report(f"{lost}; it may or may not have been carried out.", "connection_lost", hint)
        case errors.NoAnswerError():
            text = f"The Z-Wave server did not answer {error.request} within {error.seconds:g} s."
            return Report(text, "no_answer", "Check the device's values before you try again.")
        case errors.CommandFailedError():
            return Report(f"{quote_name(error.device)} was not changed: {error.reason.rstrip('.')}.", "command_failed")
        case errors.NotConfirmedError():
            return _not_confirmed(error)
        case errors.RefusedError():
            text = f"The Z-Wave server refused {error.request}: {(error.message or error.code).rstrip('.')}."
            return Report(text, "refused")
    return Report(str(error), "failed")


def _endpoint(error: errors.EndpointError) -> Report:
    parts = ", ".join(map(str, error.available))
    if error.endpoint is None:
        text = f"{quote_name(error.device)} has several parts that can be {error.wish}: endpoints {parts}."
        return Report(text, "endpoint_needed", "Choose one with endpoint.")
    text = f"{quote_name(error.device)} has no endpoint {error.endpoint} that can be {error.wish}, only {parts}."
    return Report(text, "unknown_endpoint")


def _unreachable(error: errors.UnreachableError) -> Report:
    seen = f"; it was last heard from at {error.last_seen}" if error.last_seen else ""
    if error.status is Status.DEAD:
        text = f"{quote_name(error.device)} is dead: the controller cannot reach it{seen}. Nothing was sent."
        return Report(text, "device_dead", "Call `ping` to see whether it has come back.")
    if error.status is Status.ASLEEP:
        text = f"{quote_name(error.device)} is asleep: it receives nothing until it wakes up{seen}. Nothing was sent."
        return Report(text, "device_asleep", "Its values are those of the last time it was awake.")
    text = f"{quote_name(error.device)} has not been interviewed by the driver yet{seen}. Nothing was sent."
    return Report(text, "device_not_ready", "Try again in a moment.")


def _not_confirmed(error: errors.NotConfirmedError) -> Report:
    wanted, last = json.dumps(error.wanted), json.dumps(error.last, ensure_ascii=False, default=str)
    if error.heard:
        state = f"after {error.seconds:g} s it still reports {last} where {wanted} was asked for"
    else:
        state = f"it has not answered for {error.seconds:g} s; the last known value is {last}, not {wanted}"
    text = f"The command for {quote_name(error.device)} was accepted, but the device does not confirm it: {state}."
    return Report(text, "not_confirmed", "Do not report it as done.")


def _list_candidates(candidates: Iterable[errors.Candidate]) -> str:
    described = []
    for candidate in candidates:
        place = f" in {quote_name(candidate.location)}" if candidate.location else ""
        what = f" ({', '.join(candidate.abilities)})" if candidate.abilities else ""
        described.append(f"node {candidate.node} {quote_name(candidate.name)}{place}{what}")
    return "; ".join(described)


def _refuse_boolean(value: object) -> object:
    """Refuse `true`, which Python takes for 1: a node, a percent or a second that was not meant."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean_type", "true and false are not numbers")
    return value


NoBoolean = BeforeValidator(_refuse_boolean)
Device = Annotated[str | int, NoBoolean, Field(description=WHICH_DEVICE)]
Endpoint = Annotated[
    int | None, Field(default=None, ge=0, le=127, description="Which part, if the device has several"), NoBoolean
]
T = TypeVar("T")
answered = answer_in_words(errors.ZwaveError, word_error)


def house_of(ctx: Context[House]) -> House:
    return ctx.request_context.lifespan_context


class Confirmed(TypedDict):
    """A command that the device itself has confirmed; `updated` is when the driver heard it."""

    node: int
    device: str
    updated: str | None


def confirmed(node: Node, reported: Value) -> Confirmed:
    """Return what every confirmation tells; the rest is what the device reports."""
    return {"node": node.id, "device": node.title, "updated": write_time(reported.updated)}


def done(node: Node, answer: T, words: str) -> Result[T]:
    place = f" ({node.location})" if node.location else ""  # which tells devices of the same name apart
    return Result.ok(answer, message=f"{node.title}{place} {words}.")
