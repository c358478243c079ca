"""Blocking tools in helper processes: a thread cannot be stopped, a process can be killed.

`@isolated` marks a tool of a pack; IsolateHost owns the processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar, overload

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.isolate.host import IsolateHost
else:  # helper processes, and the packs in them, have no use for it
    __getattr__ = lazy_names(__name__)

P = ParamSpec("P")
T = TypeVar("T")


@overload
def isolated(function: Callable[P, T], /) -> Callable[P, T]: ...


@overload
def isolated(
    *, reads: Sequence[str] = (), writes: Sequence[str] = (), hosts: Sequence[str] = ()
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...


def isolated(
    function: Callable[P, T] | None = None,
    /,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Callable[P, T] | Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a tool that blocks: it is called in a helper process, and is the plain function everywhere else.

    The process is confined to what is declared here: paths, `"{project}"` for the project's folder, `"{name}"` for the
    path, or paths, in an argument; and hosts as `confine.hosts` takes them. Without them it has neither other files
    than those it is made of, nor a network. The declaration is read from the source, so it consists of constants.
    """
    return function if function is not None else lambda marked: marked
