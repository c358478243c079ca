"""Arguments that several tools take."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

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
