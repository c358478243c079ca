"""The bounds of an isolated call: what its tool declares, filled in with the arguments of the call."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ot.config.paths import closed_places
from ot.context import bounded, current_or_none
from ot.errors import PathError
from ot.files.allowed_files import AllowedFiles
from ot.isolate import font_folders
from ot.registry.definitions import FONTS, PROJECT, STATE, Touches
from ot_confinement.confine import Confine
from ot_confinement.own_files import files_of_python, files_of_this_python

_PACKAGES = Path(__file__).parent.parent.parent


class ConfinedCall(NamedTuple):
    arguments: Mapping[str, object]  # files to be read are named by their real paths
    confine: Confine | None = None
    outputs: Mapping[str, str] = MappingProxyType({})  # parameters whose files the call makes, to where those belong


def confine_call(
    touches: Touches,
    module: str,
    arguments: Mapping[str, object],
    files: AllowedFiles | None,
    python: Path | None = None,
) -> ConfinedCall:
    """Find the bounds of one call of a function in `module`, a dotted name or the path of a file.

    `python` is the interpreter of its process, unless that is this process's own. Without `files` the call is the
    server's own, whose paths are not checked. Raises PathError for a file that tools may not touch. Blocking.
    """
    own = (*_own_files(python), *([module] if Path(module).is_absolute() else []))
    named = {name: _located(arguments[name], files) for name in _parameters(touches.reads) if name in arguments}
    outputs = {
        name: str(arguments[name]) for name in _parameters(touches.outputs) if arguments.get(name) not in (None, "")
    }
    for path in outputs.values():
        if files is not None:
            files.locate(path, write=True)
    values = (value if isinstance(value, list) else [value] for value in named.values())
    read = sorted({path for each in values for path in each if isinstance(path, str) and path})
    closed: tuple[str, ...] = ()
    if touches.of_project and files:
        places = (*closed_places(project=files.project, home=files.home), *map(str, files.closed))
        closed = tuple(dict.fromkeys(places))
    confine = Confine(
        readable=(*own, *(path for path in _places(touches.reads) if Path(path).exists())),
        writable=tuple(_places(touches.writes)),
        hosts=touches.hosts,
        files=tuple(read),
        inodes=(
            *map(_inode, (*read, *touches.written, *touches.mounted)),
            # When names there last changed: beside what is closed, a process knows only those of its start.
            *([files.project.stat().st_mtime_ns] if closed and files else ()),
        ),
        closed=closed,
        written=touches.written,
        mounted=touches.mounted,
    )
    return ConfinedCall({**arguments, **named}, bounded(confine), outputs)


def _parameters(declared: Iterable[str]) -> Iterable[str]:
    return (text[1:-1] for text in declared if text.startswith("{") and text not in (PROJECT, STATE, FONTS))


def _places(declared: Iterable[str]) -> Iterable[str]:
    context = current_or_none()
    for text in declared:
        if not text.startswith("{"):
            yield str(Path(text).expanduser())
        elif text == FONTS:
            yield from map(str, font_folders())
        elif context is not None and text in (PROJECT, STATE):
            yield str(context.project if text == PROJECT else context.state)


def _located(value: object, files: AllowedFiles | None) -> object:
    """Return the argument with every path in it as the real one of a file, absolute and free of links."""
    if isinstance(value, list | tuple):
        return [_located(each, files) for each in value]
    if not isinstance(value, str | Path) or not str(value):
        return value
    place = Path(value).resolve() if files is None else files.locate(value)
    if place.is_dir():
        raise PathError(str(value), "it is a folder; this tool reads files")
    return str(place)


def _inode(path: str) -> int:
    try:
        return Path(path).stat().st_ino
    except OSError:
        return 0  # it is not there


@functools.cache
def _own_files(python: Path | None) -> tuple[str, ...]:
    """Return the interpreter, its libraries, and our packages with theirs."""
    others = files_of_python(python) if python is not None else ()
    return tuple(dict.fromkeys((*others, *files_of_this_python(), str(_PACKAGES))))
