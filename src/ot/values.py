"""The typed values that a pack may return beside plain data: pictures, sounds, resources, records, project paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias, TypeVar

from ot_kernel.project_path import ProjectPath
from ot_kernel.rows import Rows, pack_column
from ot_kernel.values import MANY, Attachment, Audio, Image, Record, Resource, Scalar, by_column

__all__ = [
    "MANY",
    "PLAIN",
    "TAKES_ROWS",
    "Arguments",
    "Audio",
    "Image",
    "OpaqueValue",
    "ProjectPath",
    "Record",
    "Resource",
    "Rows",
    "ToolValue",
    "Unmade",
    "by_column",
    "expanded",
    "pack_column",
    "takes_rows",
]

Function = TypeVar("Function", bound=Callable[..., object])

PLAIN = frozenset({str, int, bool, type(None)})
"""Types whose values are JSON as they are, and need neither fitting nor converting."""


class OpaqueValue:
    """A value that nobody reads on its way to code: one in a file, one of the journal, the code of a skill."""

    __slots__ = ()


class Unmade(OpaqueValue):
    """The result of a call that a preview has not made: its number in the preview's list, and its tool."""

    __slots__ = ("number", "tool")

    def __init__(self, number: int, tool: str) -> None:
        self.number = number
        self.tool = tool

    def __repr__(self) -> str:
        return f"what call {self.number} gives"


ToolValue: TypeAlias = (
    "Scalar | Sequence[ToolValue] | Mapping[str, ToolValue] | Mapping[Scalar, ToolValue] | AbstractSet[ToolValue]"
    " | Attachment | Resource | Rows | ProjectPath | OpaqueValue"
)
"""A value that a tool takes or returns."""

Arguments: TypeAlias = Mapping[str, ToolValue]
"""Arguments of a call by name, passed on unread."""


TAKES_ROWS = "takes_rows"


def takes_rows(function: Function) -> Function:
    """Let a function have rows as they travel, by column, where they come so; a tool's is read from its source."""
    setattr(function, TAKES_ROWS, True)
    return function


def expanded(value: Any) -> Any:
    """Return arguments, or a result, whose fields have no rows by column any more."""
    if type(value) is not dict or not any(type(field) is Rows for field in value.values()):
        return value
    return {name: field.to_list() if type(field) is Rows else field for name, field in value.items()}
