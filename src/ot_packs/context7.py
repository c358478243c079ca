"""Which of a library's documented versions is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ot.errors import ToolError
from ot_packs.locks import plain_name

LOCKED = "locked"
_MOST_SHOWN = 20


def find_locked(locked: Mapping[str, str], *names: str) -> str:
    """Return the version in the project's lock files of a library that goes by some names; "" if there is none."""
    spellings = [spelling for name in names for spelling in (name, re.sub(r"\.?js$", "", name, flags=re.IGNORECASE))]
    return next((locked[plain_name(name)] for name in spellings if plain_name(name) in locked), "")


def choose_version(wanted: str, versions: Sequence[str], *, locked: str) -> str:
    """Return the documented version that `wanted` means; raises ToolError with those that there are."""
    # Where the very version of a lock file is not documented, it is the nearest of the same major version.
    if wanted != LOCKED:
        exact = [version for version in versions if _plain(version) == _plain(wanted)]
        if exact:
            return exact[0]
        raise ToolError(f"Context7 does not document version {wanted}. {_offer(versions, locked)}")
    if not locked:
        raise ToolError(f"no lock file of the project names this library. {_offer(versions, locked)}")
    near = [version for version in versions if _numbers(version)[:1] == _numbers(locked)[:1] != ()]
    if not near:
        raise ToolError(f"Context7 documents no version near {locked}. {_offer(versions, locked)}")
    return min(near, key=lambda version: _distance(version, locked))


def _offer(versions: Sequence[str], locked: str) -> str:
    known = ", ".join(versions[:_MOST_SHOWN]) or "none by name"
    more = f" (and {len(versions) - _MOST_SHOWN} more)" if len(versions) > _MOST_SHOWN else ""
    has = f"; the project has {locked} (version={LOCKED!r} takes the nearest)" if locked else ""
    return f"Documented: {known}{more}{has}. Without version it is the newest."


def _plain(version: str) -> str:
    return version.strip().removeprefix("v").replace("_", ".").lower()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number[:9]) for number in re.findall(r"\d+", _plain(version).partition("-")[0])[:3])


def _distance(version: str, locked: str) -> tuple[bool, tuple[int, ...], bool]:
    """Rank a version by how near it is: the same, then by its numbers, then without a suffix such as `-rc1`."""
    pairs = zip((*_numbers(version), 0, 0, 0), (*_numbers(locked), 0, 0, 0), strict=False)
    steps = tuple(abs(one - other) for one, other in list(pairs)[:3])
    return _plain(version) != _plain(locked), steps, "-" in version
