"""Names ordered by how near they are to one that somebody meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(target: str, names: Iterable[str]) -> list[str]:
    """All names, nearest first; equally near ones by alphabet. Case and underscores do not count."""
    # Start-up path: only a mistaken name needs the library, and it takes longer to load than all of the registry.
    from rapidfuzz.distance import JaroWinkler  # noqa: PLC0415
    from rapidfuzz.fuzz import partial_ratio  # noqa: PLC0415

    wanted = _plain(target)

    def distance(name: str) -> tuple[float, str]:
        plain = _plain(name)
        alike = JaroWinkler.similarity(wanted, plain)
        contained = partial_ratio(wanted, plain) / 100 if wanted and plain else 0.0
        return (-(alike + contained), name)

    return sorted(names, key=distance)


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
