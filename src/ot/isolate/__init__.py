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
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    outputs: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...


def isolated(
    function: Callable[P, T] | None = None,
    /,
    *,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    outputs: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Callable[P, T] | Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a tool that blocks: it is called in a helper process, and is the plain function everywhere else.

    The process is confined to what is declared here, and without that has neither other files than those it is made
    of, nor a network. The declaration is read from the source, so it consists of constants:

    - `reads` and `writes`: paths, `"{state}"` for the pack's own folder in the state folder (`current().state`),
      `"{project}"` for the project's: not its `.onetool`, and where it has one, no new names beside it;
    - `reads`: also `"{name}"` for the file, or files, that an argument names. They must lie where packs may read; the
      tool gets their real paths;
    - `outputs`: `"{name}"` for a file that an argument names and the tool makes: at `current().output("name")`, from
      where the server moves it into place when the call has succeeded. What is not made is not moved;
    - `hosts`: as `confine.hosts` takes them.
    """
    return function if function is not None else lambda marked: marked
