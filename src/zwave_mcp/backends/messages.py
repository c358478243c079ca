"""The common base of all messages from outside."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

log = logging.getLogger(__name__)

_SHOWN = 300  # characters of what is wrong with a message


class Message(BaseModel):
    """Data from outside, whose names are written in camel case: what is read must fit, the rest may be anything."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


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
