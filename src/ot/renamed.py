"""Everything that was renamed, and works under its former name until a later version: a table that `make check` reads.

A key is a path such as `results.keep_for` or `servers.*.cwd`, a tool `pack.tool`; either may move, but a tool stays in
its pack. Whoever uses a former name is told the new one. What a policy says of a tool's former name holds for the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcp_core.quick_dataclass import dataclass

ANY = "*"


@dataclass(frozen=True, slots=True)
class Renamed:
    """One thing that was renamed; `until` is the first version without the former name."""

    former: str
    now: str
    until: str

    @property
    def words(self) -> str:
        return f"{self.former} is now {self.now}; the former name works until OneTool {self.until}"


KEYS: tuple[Renamed, ...] = ()
COMMANDS: tuple[Renamed, ...] = ()
TOOLS: tuple[Renamed, ...] = ()


def find_former(table: tuple[Renamed, ...], name: str) -> Renamed | None:
    """Find what now has another name than this."""
    return next((each for each in table if each.former == name), None)


def find_tools_now(name: str) -> Iterator[Renamed]:
    """Find the former names of a tool."""
    return (each for each in TOOLS if each.now == name)


class TwoNamesError(ValueError):
    """A key stands there under both of its names."""

    def __init__(self, renamed: Renamed) -> None:
        super().__init__(f"stands there as {renamed.now} too")
        self.renamed = renamed


def move_keys(values: Mapping[object, object]) -> tuple[Mapping[object, object], list[Renamed]]:
    """Return settings under their names of today, and what was found under a former one. Raises TwoNamesError."""
    found = []
    for each in KEYS:
        moved = _move(values, each.former.split("."), each.now.split("."), each)
        if moved is not values:
            values = moved
            found.append(each)
    return values, found


def _move(
    values: Mapping[object, object], former: list[str], now: list[str], renamed: Renamed
) -> Mapping[object, object]:
    """Return the same mapping if the former name is not in it."""
    if former[0] == now[0] and len(former) > 1:
        changed = dict(values)
        for key in list(values) if former[0] == ANY else [former[0]]:
            below = values.get(key)
            if isinstance(below, dict):
                changed[key] = _move(below, former[1:], now[1:], renamed)
        return changed if any(changed[key] is not values[key] for key in values) else values
    taken, value = _take(values, former)
    return values if taken is values else _put(taken, now, value, renamed)


def _take(values: Mapping[object, object], path: list[str]) -> tuple[Mapping[object, object], object]:
    if path[0] not in values:
        return values, None
    below = values[path[0]]
    if len(path) == 1:
        return {key: value for key, value in values.items() if key != path[0]}, below
    if not isinstance(below, dict):
        return values, None
    left, value = _take(below, path[1:])
    if left is below:
        return values, None
    rest = {key: each for key, each in values.items() if key != path[0]}
    return ({**rest, path[0]: left} if left else rest), value  # a section that has nothing else has moved as a whole


def _put(values: Mapping[object, object], path: list[str], value: object, renamed: Renamed) -> dict[object, object]:
    below = values.get(path[0])
    if len(path) == 1:
        if path[0] in values:
            raise TwoNamesError(renamed)
        return {**values, path[0]: value}
    inside = below if isinstance(below, dict) else {}
    return {**values, path[0]: _put(inside, path[1:], value, renamed)}
