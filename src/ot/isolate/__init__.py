"""Blocking tools in helper processes: a thread cannot be stopped, a process can be killed.

`@isolated` marks a tool of a pack; IsolateHost owns the processes. A helper runs below its own guardian and adopts its
orphans, so one system call after each call tells whether a process is left; then the helper and all of them are killed
before the answer is given. Otherwise it waits for the next call of its module within the same bounds.

- The bounds of a call are what `@isolated` declares, filled in with its arguments (`confined_call`). A file that an
  argument names is located by the server, and opened for the helper by its real path.
- `outputs` lie in the helper's own folder until the server has found a plain file there and moved it into place.
- The first helper of a module is an interpreter of its own; later ones are forked from a standby of that module
  (`helper`, `child`). It imports only our packs and the libraries in `needs`, since a helper may have been taken
  over by its file, and never sees a call. Where a library starts threads when it is imported, nothing is forked.
- A helper that speaks to a server is given one open `connection`, a socket to a place that the person has configured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar, overload

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.isolate.host import IsolateHost
else:  # helper processes, and the packs in them, have no use for it
    __getattr__ = lazy_names(__name__)

_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts", "~/.fonts", "~/.local/share/fonts")

P = ParamSpec("P")
T = TypeVar("T")


@overload
def isolated(function: Callable[P, T], /) -> Callable[P, T]: ...


@overload
def isolated(
    *, reads: Sequence[str] = (), writes: Sequence[str] = (), outputs: Sequence[str] = (), hosts: Sequence[str] = ()
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


def font_folders() -> list[Path]:
    """Return the folders with fonts, and with what says which one stands for which, that there are."""
    return [folder for text in _FONTS if (folder := Path(text).expanduser()).is_dir()]
