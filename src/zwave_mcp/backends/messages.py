"""The common base of all messages from outside, and of the values in them, which all servers describe alike."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, SkipValidation, ValidationError
from pydantic.alias_generators import to_camel

from zwave_mcp.nodes import Value, ValueId

log = logging.getLogger(__name__)
_SHOWN = 300  # characters of what is wrong with a message
AnyJson: TypeAlias = SkipValidation[JsonValue]  # a part of a message that was read as JSON: it is not looked at again
JsonParts: TypeAlias = dict[str, AnyJson]


class Message(BaseModel):
    """Data from outside, whose names are written in camel case: what is read must fit, the rest may be anything."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


class Metadata(Message):
    readable: bool = True
    writeable: bool = False
    label: str | None = None
    unit: str | None = None
    min: float | None = None
    max: float | None = None


class NamedValue(Message):
    command_class: int
    endpoint: int | None = 0
    property: str | int
    property_key: str | int | None = None
    property_name: str | None = None
    property_key_name: str | None = None
    value: AnyJson = None

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


def read_json(text: str | bytes) -> JsonValue:
    """Read JSON; raises ValueError."""
    try:
        read: JsonValue = json.loads(text)
        return read
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
            log.warning("ignored a %s that cannot be read: %.*s", model.__name__, _SHOWN, error)
    return read
