"""A task: what a person asks, the right answer, and the two scripts that find it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

HOME = "/home/ada"
"""What a model reads instead of the folder in which a task is done."""


class DirectCalls(Protocol):
    """A client connected to the servers themselves."""

    async def call(self, *calls: tuple[str, str, Mapping[str, object]]) -> list[str]:
        """Make calls in one request, each a server, a tool and its arguments; the texts that come back."""


class Runs(Protocol):
    """A client connected to OneTool."""

    async def run(self, code: str) -> str:
        """Run code that works; the text that comes back."""

    async def fail(self, code: str) -> str:
        """Run code that has a mistake in it; the text that comes back."""


@dataclass(frozen=True, slots=True)
class Task:
    """`left` tells what the task leaves in the folder, if that is part of what has to be right."""

    name: str
    question: str
    servers: tuple[str, ...]
    expected: str
    direct: Callable[[DirectCalls], Awaitable[str]]
    through_run: Callable[[Runs], Awaitable[str]]
    left: Callable[[Path], object] | None = None
    expected_left: object = None
