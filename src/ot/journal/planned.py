"""Calls that a preview lists, as the journal keeps them, and how a call that is made is found among them.

Arguments are kept without secrets; the digest compares what was given. The result of another listed call may be among
them: the place is kept, and what is there when the call is made must be what that other call gave.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Any, TypeAlias

from mcp_core.json_types import Json, JsonObject, list_of
from mcp_core.quick_dataclass import dataclass
from ot.values import Arguments, Record, Rows, ToolValue, Unmade, expanded
from ot_kernel.values import STAND_IN, Encoded, encode

Path: TypeAlias = tuple[str | int, ...]
"""The way to a place in arguments: names and indexes."""

Place: TypeAlias = tuple[Path, int]
"""A place in arguments, and the call whose result is there."""

NOT_GIVEN = "a stand-in that the preview did not give"
_LISTS = frozenset({"tuple", "set", "frozenset"})
_to_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call of a preview's list."""

    number: int
    tool: str
    digest: str
    arguments: Encoded = None
    places: tuple[Place, ...] = ()  # of results of other calls
    reads: bool = False  # it changes nothing, and could not or may not be made
    reasons: tuple[str, ...] = ()  # for which a person would be asked
    refused: str = ""  # why it would not be made at all
    files: dict[str, str] = field(default_factory=dict)  # as they were shown: a digest of each, empty if there is none

    @property
    def is_comparable(self) -> bool:
        """True unless it was given a file, which is equal to no other."""
        return bool(self.digest)

    def describe(self) -> JsonObject:
        return {
            "number": self.number,
            "tool": self.tool,
            "digest": self.digest,
            "arguments": self.arguments,
            "places": [[[*path], number] for path, number in self.places],
            "reads": self.reads,
            "reasons": [*self.reasons],
            "refused": self.refused,
            "files": {**self.files},
        }


def read_planned(line: JsonObject) -> PlannedCall:
    """Read a call from its line; raises LookupError, TypeError or ValueError."""
    files: Any = line["files"]
    return PlannedCall(
        int(str(line["number"])),
        str(line["tool"]),
        str(line["digest"]),
        line["arguments"],
        tuple(map(_read_place, list_of(line["places"]))),
        bool(line["reads"]),
        tuple(map(str, list_of(line["reasons"]))),
        str(line["refused"]),
        {str(path): str(digest) for path, digest in files.items()},
    )


def _read_place(place: Json) -> Place:
    path, number = list_of(place)
    return tuple(step if isinstance(step, int) else str(step) for step in list_of(path)), int(str(number))


def find_unmade(value: object, path: Path = ()) -> Iterator[Place]:
    """Yield the places of results of calls that were not made, also where only a forged message can have put them."""
    if type(value) is Unmade:
        yield path, value.number
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from find_unmade(key, path)
            yield from find_unmade(item, (*path, key if isinstance(key, int) else str(key)))
    elif isinstance(value, list | tuple | AbstractSet):
        for index, item in enumerate(value):
            yield from find_unmade(item, (*path, index))
    elif type(value) is Rows:
        yield from find_unmade(value.to_list(), path)


def with_unmade(arguments: Arguments, places: Sequence[Place], same: Callable[[int, object], bool]) -> Arguments | None:
    """Put results that were not made back to their places; None where something else is there.

    `same` says whether a value is what a call has given.
    """
    found: Any = expanded(dict(arguments))
    try:
        for path, number in places:
            found = _restore(found, path, number, same)
    except (LookupError, TypeError):
        return None
    return dict(found)


def _restore(value: Any, path: Path, number: int, same: Callable[[int, object], bool]) -> Any:
    if not path:
        if not same(number, value):
            raise LookupError(number)
        return Unmade(number, "")
    key = path[0]
    inner = _restore(value[key], path[1:], number, same)
    if isinstance(value, dict):
        fields = {**value, key: inner}
        return Record(value.record_name, fields) if isinstance(value, Record) else fields
    items = [*value]
    items[int(key)] = inner
    return items if isinstance(value, list) else tuple(items)


def plain_form(value: ToolValue) -> str:
    """Return a value as text that is the same for all forms which the arguments of a call may have it in."""
    return _to_json(_plain(encode(value)))


def _plain(encoded: Encoded) -> Encoded:
    if isinstance(encoded, float) and encoded.is_integer():
        return int(encoded)
    if isinstance(encoded, list):
        return [_plain(item) for item in encoded]
    if not isinstance(encoded, dict):
        return encoded
    tag, content = encoded.get("$"), encoded.get("v")
    if tag in _LISTS:
        return _plain(content)
    if tag in ("path", "str"):
        return content
    if tag == "record" and isinstance(content, list):
        return _plain(content[1])
    return {key: _plain(item) for key, item in encoded.items()}


def place_unmade(encoded: Any, tools: Sequence[str]) -> Any:
    """Put results of listed calls into encoded arguments; raises ValueError for one that was not given.

    `tools` are those of the calls, by their numbers.
    """
    if type(encoded) is list:
        return [place_unmade(item, tools) for item in encoded]
    if type(encoded) is not dict:
        return encoded
    if encoded.get("$") != STAND_IN:
        return {key: place_unmade(item, tools) for key, item in encoded.items()}
    number = encoded.get("v")
    if type(number) is not int or not 1 <= number <= len(tools):
        raise ValueError(NOT_GIVEN)
    return Unmade(number, tools[number - 1])
