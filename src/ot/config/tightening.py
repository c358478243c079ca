"""A nearer file over the person's: it adds what is its own, and may only tighten what guards the person.

What each key allows stands on its field (`Layers` in `section.py`). What a file may not say is left out, and told.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.config.keys import ANY, Key, choices_of, dotted, known_keys, nested, starts
from ot.config.layers import merge
from ot.config.models import OFF_UNLESS_ASKED
from ot.config.paths import CONFIG_FILE, FOLDER
from ot.config.reading import read_switch
from ot.config.section import PERSON, Rule
from ot.config.values import parse_size, read_word

Values = Mapping[object, object]
_REACHED_BY = ("command", "args", "env", "cwd", "url", "headers", "oauth", "confine")
"""The keys of a server that say what is started or reached, and what is handed to it."""
_BELIEVED = ("hints", "own")  # keys that say how far the person believes a server
_OWN_FILE = f"your own file, ~/{FOLDER}/{CONFIG_FILE},"
_GUARDS: frozenset[Rule | None] = frozenset({"union", "smaller", "stricter", "stays on"})
_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key that a project's file may not set as it does, and why."""

    key: str
    reason: str


class Tightening:
    """Puts the settings of a project over those of the person; `refused` is what was left out."""

    def __init__(self, project: Path) -> None:
        self._project = os.path.realpath(project)
        self.refused: list[Refusal] = []

    def apply(self, farther: Values, nearer: Values, path: tuple[str, ...] = ()) -> dict[object, object]:
        """Return what holds when both are read; `path` leads to them."""
        merged = dict(farther)
        for name, value in nearer.items():
            here = (*path, str(name))
            below = merged.get(name)
            known = [key for key in known_keys() if starts(key.path, here)]  # it, or what is below it
            key = next((key for key in known if len(key.path) == len(here)), None)
            if path == ("servers",) and isinstance(below, dict) and isinstance(value, dict):
                merged[name] = self._server(below, value, here)
            elif key is None and known and isinstance(value, dict):
                inner = self.apply(below if isinstance(below, dict) else {}, value, here)
                if inner or name in merged or not value:
                    merged[name] = inner
            else:  # of a section that is written as something else, any key tells who may write it
                self._put(merged, name, value, key or next(iter(known), None), here)
        return merged

    def _put(
        self, merged: dict[object, object], name: object, value: object, key: Key | None, path: tuple[str, ...]
    ) -> None:
        layers = key.layers if key is not None else PERSON
        if "project" in layers.sets:
            merged |= merge({name: merged[name]} if name in merged else {}, {name: value})
        elif value is None:
            pass  # a key without a value says nothing
        elif key is not None and layers.rule is not None and "project" in layers.tightens:
            below = merged.get(name)
            if layers.rule == "stricter" and below is None:
                below = key.default  # and not whatever the project likes: the default is a guard as well
            within = layers.rule == "below"
            tightened = self._within(below, value, path) if within else tighten(layers.rule, key, below, value)
            if tightened is not None:
                merged[name] = tightened
            if not _holds(layers.rule, key, tightened, value, path):
                self._refuse(path, f"only {_OWN_FILE} can loosen it")
        else:
            self._refuse(path, f"only {_OWN_FILE} can set it")

    def _within(self, below: object, value: object, path: tuple[str, ...]) -> list[object]:
        """Return the farther paths, and those of the project that lie in it or in one of them, without links."""
        # A link is resolved here, once: what it leads to later is not opened.
        farther = _listed(below)
        places = [self._project, *(os.path.realpath(str(item)) for item in farther)]
        kept: list[object] = []
        for item in _listed(value):
            real = os.path.realpath(str(item))
            if any(Path(real).is_relative_to(place) for place in places):
                kept.append(real)
            else:
                self._refuse(path, f"{real} is outside the project; only {_OWN_FILE} can allow it")
        return [*farther, *(item for item in kept if item not in farther)]

    def _server(self, below: Values, value: Values, path: tuple[str, ...]) -> dict[object, object]:
        """Return a server that both describe; one that the project reaches elsewhere gets nothing of the person's."""
        given: dict[object, object] = {key: value[key] for key in _REACHED_BY if value.get(key) is not None}
        changed = [key for key in given if given[key] != below.get(key)]
        others = {key: item for key, item in value.items() if key not in _REACHED_BY}
        if changed and ("command" in given or "url" in given):
            below = {key: item for key, item in below.items() if key not in (*_REACHED_BY, *_BELIEVED)}
            return merge(self.apply(below, others, path), given)
        for key in changed:
            reason = "this server is yours; a project that defines its own must give its command or url"
            self._refuse((*path, str(key)), reason)
        return self.apply(below, others, path)

    def _refuse(self, path: tuple[str, ...], reason: str) -> None:
        self.refused.append(Refusal(dotted(path) or "", reason))


def _holds(rule: Rule, key: Key, tightened: object, value: object, path: tuple[str, ...]) -> bool:
    """True if what a project says is what holds then; lists are judged entry by entry elsewhere."""
    if rule in ("stays on", "stays off"):
        unset = path[1] not in OFF_UNLESS_ASKED if path[0] == "packs" else key.default is not False
        return read_switch(unset if tightened is None else tightened) == read_switch(value)
    return tightened == (read_word(value) if rule == "stricter" else value) if rule in ("smaller", "stricter") else True


def guard_sections() -> frozenset[str]:
    return frozenset(path[0] for path in _guards())


def guards_of(values: Values) -> dict[object, object]:
    """Return what guards the person, and holds whatever file they name: policy, confinement, limits, accepted tools."""
    found: dict[object, object] = {}
    for path in _guards():
        value = _at(values, path)
        if value is not None:
            found = merge(found, nested(path, value))
    return found


def keep_guards(guards: Values, named: Values) -> dict[object, object]:
    """Return a file that the person names, with the guards of their own file around it."""
    merged = merge(guards, named)
    for path, key in _guards().items():
        below, value = _at(guards, path), _at(named, path)
        if below is not None and key.layers.rule is not None:
            held = below if value is None else tighten(key.layers.rule, key, below, value)
            merged = merge(merged, nested(path, held))
    return merged


def tighten(rule: Rule, key: Key, below: object, value: object) -> object:
    """Return the tighter of two values, or of one alone; None where the nearer one says nothing that counts."""
    return _RULES[rule](key, below, value)


def _guards() -> dict[tuple[str, ...], Key]:
    """Return the keys that guard the person by where they stand; a list of rules counts as one."""
    found = [key for key in known_keys() if key.layers.rule in _GUARDS]
    paths = [(tuple(itertools.takewhile(lambda part: part != ANY, key.path)), key) for key in found]
    return {path: key for path, key in paths if key.path == path or path[0] == "policy"}


def _at(values: Values, path: Sequence[str]) -> object:
    value: object = values
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _union(key: Key, below: object, value: object) -> object:
    farther = _listed(below)
    return [*farther, *(item for item in _listed(value) if item not in farther)]


def _intersection(key: Key, below: object, value: object) -> object:
    """Return the patterns of either that lie within one of the other; what overlaps only in part is left out."""
    farther = [str(item) for item in (_listed(key.default) if below is None else _listed(below))]
    nearer = [str(item) for item in _listed(value)]
    inside = [item for item in nearer if any(_covers(other, item) for other in farther)]
    around = [item for item in farther if item not in inside and any(_covers(other, item) for other in nearer)]
    return inside + around


def _covers(wide: str, narrow: str) -> bool:
    """True if every text that fits the pattern `narrow` certainly fits `wide` too."""
    if wide == narrow:
        return True
    # A `?` or a set would take a wildcard of the other for a letter; a `*` takes it for what it stands for.
    certain = not _WILDCARDS & set(narrow) or not {"?", "["} & set(wide)
    return certain and fnmatchcase(narrow, wide)


def _stricter(key: Key, below: object, value: object) -> object:
    words: list[object] = list(choices_of(key.field.annotation))
    known = [read_word(word) for word in (below, value) if word is not None]
    return min(known, key=words.index)


def _stays_on(key: Key, below: object, value: object) -> object:
    return True if read_switch(value) or (below is not None and read_switch(below)) else below


_RULES: Mapping[Rule, Callable[[Key, object, object], object]] = {
    "union": _union,
    "intersection": _intersection,
    "smaller": lambda _, below, value: value if below is None or _amount(value) <= _amount(below) else below,
    "stricter": _stricter,
    "stays on": _stays_on,
    "stays off": lambda _, below, value: below if read_switch(value) else False,
}


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _amount(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return parse_size(str(value)) or 0
