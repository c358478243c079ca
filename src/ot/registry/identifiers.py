"""Names of other people's tools and parameters, made into names that code can write.

`get-env` becomes `get_env`, `class` becomes `class_`, `3d` becomes `_3d`. The result depends on the set of names alone,
not on their order: who can keep a name keeps it, the others take turns by alphabet (`get_env_2`).
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable

MAX_LENGTH = 80


def identifier(name: str, *, fallback: str) -> str:
    """The nearest name that Python accepts; `fallback` where nothing of it can be kept."""
    if name.isascii() and name.isidentifier() and len(name) <= MAX_LENGTH and name[:2] != "__":
        return f"{name}_" if keyword.iskeyword(name) else name
    # Python reads identifiers in this form, so only a name in this form is found again.
    plain = unicodedata.normalize("NFKC", name[: 4 * MAX_LENGTH])
    kept = "".join(character if ("a" + character).isidentifier() else "\0" for character in plain)
    words = [word for word in kept.split("\0") if word]
    found = "_".join(words)[:MAX_LENGTH]
    if found.startswith("__"):
        found = found.strip("_")  # code inside a class, and Python itself, mean something else by it
    if not found:
        return fallback
    if not found.isidentifier():
        found = f"_{found}"  # a digit, or a mark that cannot stand first
    return f"{found}_" if keyword.iskeyword(found) else found


def assign_identifiers(names: Iterable[str], *, fallback: str) -> dict[str, str]:
    """An identifier for each of several names, no two alike: own name to identifier, in the order given."""
    names = list(dict.fromkeys(names))
    assigned: dict[str, str] = {}
    taken: set[str] = set()
    wanted = {name: identifier(name, fallback=fallback) for name in names}
    for name in sorted(names, key=lambda name: (wanted[name] != name, name)):
        free, number = wanted[name], 1
        while free in taken:
            number += 1
            free = f"{wanted[name]}_{number}"
        taken.add(free)
        assigned[name] = free
    return {name: assigned[name] for name in names}
