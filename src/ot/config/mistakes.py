"""Mistakes in a configuration: the entries that they switch off, and errors that name the file, the key and the fix.

An entry is one server, snippet, alias, project or pack, or any other section that guards nobody. It is off as a whole,
whichever file has the mistake: half of it could be less careful than the person meant it to be. A mistake in what
guards the person, or in a key that nobody knows and that may be a misspelt guard, switches nothing off; it is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.config.keys import dotted, known_keys, matches, suggest
from ot.config.reading import AMOUNT, MISSING, UNKNOWN_KEY, VALUE, Problem, SettingsError
from ot.config.values import INCOMPLETE
from ot.errors import ConfigError
from ot.renamed import Renamed

_NAMED = frozenset({"aliases", "packs", "projects", "servers", "snippets"})
_GUARDS = frozenset({"audit", "auth", "execution", "grants", "journal", "limits", "policy", "security", "store"})
_PACKS_OF = {"ai": "llm"}  # packs that go by another section: with its defaults they would turn to somebody else
UNFINISHED = frozenset({MISSING, INCOMPLETE})  # kinds of problems that a layer farther away may put right
_ABOUT_A_VALUE = frozenset({VALUE, AMOUNT})
_NEVER_QUOTED = frozenset({"servers", "packs"})


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake, and the entry that is off because of it."""

    entry: tuple[str, ...]
    error: ConfigError

    @property
    def pack(self) -> str:
        """The built-in pack or the extension that is off; empty if it is none."""
        section, *name = self.entry
        return name[0] if section == "packs" else _PACKS_OF.get(section, "")


class Mistakes:
    """Collects the mistakes in entries; unless it is `tolerant`, it raises each one. `every` gets all of them."""

    def __init__(self, sections: Collection[str], *, tolerant: bool, every: list[ConfigError] | None = None) -> None:
        self.tolerant = tolerant
        self.found: list[Mistake] = []
        self.renamed: list[tuple[Path, Renamed]] = []  # no mistakes, but keys that a file has under former names
        self._sections = sections
        self._every = [] if every is None else every
        self._raised: ConfigError | None = None

    def add(self, path: Sequence[str], error: ConfigError) -> None:
        """Take a mistake at this path; where no entry can be switched off, `settle` raises it."""
        if not self.tolerant:
            raise error
        self._every.append(error)
        section = path[0] if path else ""
        if section in _GUARDS or section not in self._sections or path == ("packs",):
            self._raised = self._raised or error
        else:
            self.found.append(Mistake(tuple(path[: 2 if section in _NAMED else 1]), error))

    def settle(self) -> None:
        """Raise the first mistake that switches nothing off."""
        if self._raised is not None:
            raise self._raised

    def leave_out(self, values: Mapping[object, object]) -> dict[object, object]:
        """Return settings without the entries that are off; a name that is no text may be told in any form."""
        kept = dict(values)
        for section, *name in (mistake.entry for mistake in self.found):
            below = kept.get(section)
            if not name:
                kept.pop(section, None)
            elif isinstance(below, dict):
                off = [key for key in below if key == name[0]] or [key for key in below if not isinstance(key, str)]
                kept[section] = {key: item for key, item in below.items() if key not in off}
        return kept

    def switch_off(self, values: Mapping[object, object]) -> dict[object, object]:
        """Return merged settings without those entries, with packs among them off, whatever their default is."""
        kept = self.leave_out(values)
        packs = {mistake.pack: {"enabled": False} for mistake in self.found if mistake.pack}
        if packs:
            below = kept.get("packs")
            kept["packs"] = {**(below if isinstance(below, dict) else {}), **packs}
        return kept


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings of one file or one variable."""

    source: Path | str
    written: Mapping[object, object]  # as the person wrote it, to be quoted in mistakes
    values: Mapping[object, object]  # with variables and paths filled in; never shown
    unwritten: int = 0  # leading keys that the file itself leaves out


def explain(
    error: SettingsError, layers: Sequence[Layer], mistakes: Mistakes, *, leave_out: Collection[str] = ()
) -> None:
    """Add each mistake, with the nearest layer that has its key, but for the kinds to `leave_out`."""
    # Where the first one is raised, it says how many more there are.
    found = [problem for problem in error.problems if problem.kind not in leave_out]
    for problem in found:
        mistake = _explain(problem, layers, more=0 if mistakes.tolerant else len(found) - 1)
        mistakes.add(problem.place if mistake.file is not None else (), mistake)  # a variable is for all it starts


def _explain(problem: Problem, layers: Sequence[Layer], *, more: int) -> ConfigError:
    path = problem.place
    layer = max(layers, key=lambda candidate: _depth(candidate.values, path))
    fix = suggest(path[-1], path[:-1]) if problem.kind == UNKNOWN_KEY else problem.fix
    key = next((key for key in known_keys() if matches(key.path, path)), None)
    if problem.kind == AMOUNT and key is not None and key.default is not None:
        fix += f", for example {key.default}"
    if problem.kind in _ABOUT_A_VALUE and key is not None and key.words:
        fix += f" ({key.words})"
    reason = problem.reason + _quoted(problem, layer)
    if more:
        reason += f" (and {more} more)"
    if isinstance(layer.source, str):
        return ConfigError(reason, key=layer.source, fix=fix)
    return ConfigError(reason, file=layer.source, key=dotted(path[layer.unwritten :]), fix=fix)


def _quoted(problem: Problem, layer: Layer) -> str:
    """Quote what the person wrote there, if it is a single value that cannot be a secret."""
    path = problem.place
    if problem.kind not in _ABOUT_A_VALUE or problem.of_key or path[0] in _NEVER_QUOTED:
        return ""
    value: object = layer.written
    for part in path[layer.unwritten :]:
        value = _item(value, part)
    if value is None or isinstance(value, dict | list):
        return ""
    text = dotted([value]) or '""'
    return f", not {text[:40]}"


def _depth(values: Mapping[object, object], path: Sequence[str]) -> int:
    value: object = values
    for depth, part in enumerate(path):
        value = _item(value, part)
        if value is None:
            return depth
    return len(path)


def _item(value: object, part: str) -> object:
    if isinstance(value, dict):
        return next((item for key, item in value.items() if str(key) == part), None)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None
