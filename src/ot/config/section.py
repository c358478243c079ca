"""The building blocks of the configuration's models: a section, and the types of single values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from annotated_types import Interval
from pydantic import AfterValidator, AllowInfNan, BaseModel, BeforeValidator, ConfigDict, create_model, model_validator

from ot.config.settings import REQUIRED, DescribedFields, describe
from ot.config.values import (
    check_host,
    check_identifier,
    check_name,
    check_pattern,
    check_url,
    read_number,
    read_path,
    read_seconds_or_off,
    read_size,
)

LONGEST = 30 * 24 * 3600
"""Seconds of the longest duration."""

Name = Annotated[str, AfterValidator(check_name)]
Identifier = Annotated[str, AfterValidator(check_identifier)]
Pattern = Annotated[str, AfterValidator(check_pattern)]
HostName = Annotated[str, AfterValidator(check_host)]
Url = Annotated[str, AfterValidator(check_url)]
FilePath = Annotated[Path, BeforeValidator(read_path)]
Seconds = Annotated[float, BeforeValidator(read_number), Interval(gt=0, le=LONGEST), AllowInfNan(False)]
SecondsOrOff = Annotated[float, BeforeValidator(read_seconds_or_off), Interval(ge=0, le=LONGEST), AllowInfNan(False)]
Count = Annotated[int, BeforeValidator(read_number)]
Bytes = Annotated[int, BeforeValidator(read_size)]
Share = Annotated[float, BeforeValidator(read_number), Interval(gt=0, lt=1), AllowInfNan(False)]
Dollars = Annotated[float, BeforeValidator(read_number), Interval(ge=0, le=1_000_000), AllowInfNan(False)]


S = TypeVar("S", bound="Section")


class Section(BaseModel, metaclass=DescribedFields):
    """A mapping of the file with a closed set of keys."""

    # Built on first use: the validators of sections that only stand inside another one are never needed. For the same
    # reason a section that is a default is constructed: there is nothing in it to validate, and the start of a server
    # would wait for its validator.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_value_is_default(cls, value: object) -> object:
        if value is None:
            return {}
        if not isinstance(value, dict) or None not in value.values():
            return value
        takes_none = {key for key in value if key not in cls.model_fields or cls.model_fields[key].default is None}
        return {key: item for key, item in value.items() if item is not None or key in takes_none}


def with_key(name: str, kind: Any, words: str, default: object = REQUIRED) -> Callable[[type[S]], type[S]]:
    """Add a key to a class of settings that its body cannot name: a word of Python, or one that is known only now."""

    def add(settings: type[S]) -> type[S]:
        keys: dict[str, Any] = {name: (kind, default)}
        made = create_model(
            settings.__name__, __base__=settings, __module__=settings.__module__, __doc__=settings.__doc__, **keys
        )
        describe(made, name, words)
        return made

    return add
