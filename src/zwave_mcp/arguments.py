"""Arguments that several tools take."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

WHICH_DEVICE = "Number of the node, its name, or place and name, in any case"


def _refuse_boolean(value: object) -> object:
    """Refuse `true`, which Python takes for 1: a node, a percent or a second that nobody asked for."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean_type", "true and false are not numbers")
    return value


NoBoolean = BeforeValidator(_refuse_boolean)
Device = Annotated[str | int, NoBoolean, Field(description=WHICH_DEVICE)]
Endpoint = Annotated[
    int | None,
    Field(default=None, ge=0, le=127, description="Which part, of a device that has several such"),
    NoBoolean,
]
