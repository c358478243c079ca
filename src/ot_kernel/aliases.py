"""Aliases: short names for one tool, followed until they name it."""

from __future__ import annotations


class AliasCycle(Exception):  # noqa: N818 - worded by the server, whose error tree has AliasCycleError
    """Aliases that lead back to themselves; `names` is the way round."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(*names)
        self.names = names


def resolve(name: str, aliases: dict[str, str]) -> str:
    """Return the `pack.tool` that an alias finally stands for; raises AliasCycle."""
    seen = [name]
    target = aliases[name]
    while target in aliases:
        if target in seen:
            raise AliasCycle([*seen, target])
        seen.append(target)
        target = aliases[target]
    return target
