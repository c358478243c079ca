"""Blocking tools in helper processes: a thread cannot be stopped, a process can be killed.

`@isolated` marks a tool of a pack; IsolateHost owns the processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from ot.isolate.host import IsolateHost

__all__ = ["IsolateHost", "isolated"]

P = ParamSpec("P")
T = TypeVar("T")


def isolated(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a tool that blocks: it is called in a helper process, and is the plain function everywhere else."""
    return function


def __getattr__(name: str) -> object:
    if name != "IsolateHost":
        raise AttributeError(f"module 'ot.isolate' has no attribute {name!r}")
    from ot.isolate.host import IsolateHost  # noqa: PLC0415 - helper processes, and the packs in them, have no use for it

    return IsolateHost
