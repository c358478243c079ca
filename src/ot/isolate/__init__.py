"""Blocking tools in helper processes: a thread cannot be stopped, a process can be killed.

`@isolated` marks a tool of a pack; IsolateHost owns the processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.isolate.host import IsolateHost
else:  # helper processes, and the packs in them, have no use for it
    __getattr__ = lazy_names(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def isolated(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a tool that blocks: it is called in a helper process, and is the plain function everywhere else."""
    return function
