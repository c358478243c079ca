"""The common base of all messages from outside, and of the values in them, which all servers describe alike."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from mcp_core.json_types import Json
from zwave_mcp.values import Value, ValueId

log = logging.getLogger(__name__)

_SHOWN = 300  # characters of what is wrong with a message


class Message(BaseModel):
    """Data from outside, whose names are written in camel case: what is read must fit, the rest may be anything."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Metadata(Message):
    """Describes what can be done with a value, and how to read it."""

    readable: bool = True
    writeable: bool = False
    label: str | None = None
    unit: str | None = None
    min: float | None = None
    max: float | None = None


class NamedValue(Message):
    """A value under its names."""

    command_class: int
    endpoint: int | None = 0
    property: str | int
    property_key: str | int | None = None
    property_name: str | None = None
    property_key_name: str | None = None
    value: Json = None

    def id_in(self, node: int) -> ValueId:
        return ValueId(node, self.command_class, self.endpoint or 0, self.property, self.property_key)

    def build_value(
        self, node: int, metadata: Metadata, *, states: Mapping[str, str], secret: bool, updated: datetime | None = None
    ) -> Value:
        return Value(
            self.id_in(node),
            self.value,
            updated,
            label=metadata.label or "",
            property_name=self.property_name or "",
            key_name=self.property_key_name or "",
            unit=metadata.unit,
            readable=metadata.readable,
            writeable=metadata.writeable,
            secret=secret,
            minimum=metadata.min,
            maximum=metadata.max,
            states=states,
        )


def read_json(text: str | bytes) -> Json:
    """Read JSON; raises ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


M = TypeVar("M", bound=Message)


def read_each(model: type[M], items: Iterable[object]) -> list[M]:
    """Read what can be read; one odd node or value must not hide all the others."""
    read = []
    for item in items:
        try:
            read.append(model.model_validate(item))
        except ValidationError as error:
            log.warning("passed over a %s that makes no sense: %.*s", model.__name__, _SHOWN, error)
    return read
