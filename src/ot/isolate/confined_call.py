"""The bounds of an isolated call: what its tool declares, filled in with the arguments of the call."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

from ot.context import current_or_none
from ot.processes.own_files import files_of_this_python
from ot.registry.definitions import Touches
from ot_confinement.confine import Confine

_PROJECT = "{project}"
_PACKAGES = Path(__file__).parent.parent.parent


def confine_call(touches: Touches, module: str, arguments: Mapping[str, object]) -> Confine:
    """Return the bounds of one call of a function in `module`, a dotted name or the path of a file.

    A path to be written that does not exist yet opens the folder in which it would lie: there is nothing else to open.
    """
    own = (*_own_files(), *([module] if Path(module).is_absolute() else []))
    reads = [path for path in _fill_in(touches.reads, arguments) if path.exists()]
    writes = [_existing(path) for path in _fill_in(touches.writes, arguments)]
    return Confine((*own, *map(str, reads)), tuple(map(str, writes)), touches.hosts)


def _fill_in(declared: Iterable[str], arguments: Mapping[str, object]) -> Iterable[Path]:
    for text in declared:
        if not text.startswith("{"):
            yield Path(text).expanduser()
        elif text == _PROJECT:
            context = current_or_none()
            if context is not None:
                yield context.project
        else:
            value = arguments.get(text[1:-1])
            paths = value if isinstance(value, list | tuple) else [value]
            yield from (Path(path).absolute() for path in paths if isinstance(path, str | Path) and str(path))


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


@functools.cache
def _own_files() -> tuple[str, ...]:
    """Return the interpreter, its libraries, and our packages."""
    return (*files_of_this_python(), str(_PACKAGES))
