"""The arguments that several tools take, and their results: values a device reports, and errors in words."""

from __future__ import annotations

from typing import Annotated, TypeVar

from mcp.server.mcpserver import Context
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from mcp_core import Result, answer_in_words
from zwave_mcp.errors import ZwaveError
from zwave_mcp.health import write_time
from zwave_mcp.house import House
from zwave_mcp.nodes import Node
from zwave_mcp.reporting import word_error
from zwave_mcp.values import Value

WHICH_DEVICE = "Node number, name, or place and name; case does not matter"


def _refuse_boolean(value: object) -> object:
    """Refuse `true`, which Python takes for 1: a node, a percent or a second that was not meant."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean_type", "true and false are not numbers")
    return value


NoBoolean = BeforeValidator(_refuse_boolean)
Device = Annotated[str | int, NoBoolean, Field(description=WHICH_DEVICE)]
Endpoint = Annotated[
    int | None,
    Field(default=None, ge=0, le=127, description="Which part, if the device has several"),
    NoBoolean,
]


T = TypeVar("T")

answered = answer_in_words(ZwaveError, word_error)


def house_of(ctx: Context[House]) -> House:
    """Return the house of the server that a tool is called in."""
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
    """Answer a command, for the person in words about its device."""
    return Result.ok(answer, message=f"{node.full_title} {words}.")
