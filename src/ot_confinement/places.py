"""Paths as the system follows them: through which names one leads, and whether somebody could have changed those."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_LINKS = 40


def lies_within(path: str, places: Iterable[str]) -> bool:
    """True if a path is one of these places, or in one of them, by its name."""
    return any(os.path.commonpath((place, path)) == place for place in places)


def leave_out_led(paths: Iterable[str], writable: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that do not lead through a name in a writable place.

    Whoever may write there could have led that name elsewhere, for the next start. What really lies there is open
    together with that place.
    """
    places = {os.path.realpath(path) for path in writable}
    return tuple(
        path for path in paths if not any(step not in places and lies_within(step, places) for step in follow(path))
    )


def follow(path: str) -> Iterator[str]:
    """Yield the name of every step on the way to what a path means, links followed."""
    here, waiting, links = "/", _parts(path), 0
    while waiting and links <= _MOST_LINKS:
        step = os.path.normpath(os.path.join(here, waiting.pop()))
        yield step
        try:
            target = os.readlink(step)
        except OSError:
            here = step  # no link, or nothing at all
            continue
        links += 1
        here = "/" if os.path.isabs(target) else here
        waiting += _parts(target)


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part]
