"""Takes and gives what the file itself defines."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


@dataclass
class Route:
    name: str
    points: list[Point]
    tags: set[str] = field(default_factory=set)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("a route needs points")
        self.length = len(self.points)


@dataclass
class Node:
    name: str
    below: "Node | None" = None  # noqa: UP037 - as people write it out of habit


class Stop(TypedDict):
    at: Point
    label: str


def describe(*, route: Route, home: Point | None = None, unknown: Sequence[int] = ()) -> list[str]:
    return [
        type(route).__name__,
        type(route.points[0]).__name__,
        repr(sorted(route.tags)),
        repr(home),
        str(route.length),
    ]


def stop(*, stop: Stop) -> str:
    return f"{type(stop).__name__} {stop['at']!r}"


def either(*, shape: Route | Point | str) -> str:
    return type(shape).__name__


def tree(*, node: Node) -> str:
    return repr(node)


def several(*points: Point) -> int:
    return sum(point.x for point in points)


def by_name(*, points: dict[str, tuple[Point, ...]]) -> str:
    return repr(points)


async def move(*, point: Point, by: int) -> Point:
    return dataclasses.replace(point, x=point.x + by)
