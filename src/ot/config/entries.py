"""Entries: the parts of a configuration that a mistake switches off, while everything else works.

An entry is one server, snippet, alias, project or pack, or any other section that guards nobody. It is off as a whole,
whichever file has the mistake: half of it could be less careful than the person meant it to be. A mistake in what
guards the person, or in a key that nobody knows and that may be a misspelt guard, switches nothing off; it is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mcp_core.quick_dataclass import dataclass
from ot.errors import ConfigError

EntryPath = tuple[str, ...]

_NAMED = frozenset({"aliases", "packs", "projects", "servers", "snippets"})
_GUARDS = frozenset({"audit", "auth", "execution", "grants", "journal", "limits", "policy", "security", "store"})
_OFF = {"enabled": False}
_PACKS_OF = {"ai": "llm"}  # packs that go by another section: with its defaults they would turn to somebody else


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake, and the entry that is off because of it."""

    entry: EntryPath
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
        self._sections = sections
        self._every = [] if every is None else every
        self._raised: ConfigError | None = None

    def add(self, path: Sequence[str], error: ConfigError) -> None:
        """Take a mistake at this path; where no entry can be switched off, `settle` raises it."""
        if not self.tolerant:
            raise error
        self._every.append(error)
        entry = self._entry_of(path)
        if entry:
            self.found.append(Mistake(entry, error))
        else:
            self._raised = self._raised or error

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
        packs = dict.fromkeys((mistake.pack for mistake in self.found if mistake.pack), _OFF)
        if packs:
            below = kept.get("packs")
            kept["packs"] = {**(below if isinstance(below, dict) else {}), **packs}
        return kept

    def _entry_of(self, path: Sequence[str]) -> EntryPath:
        section = path[0] if path else ""
        if section in _GUARDS or section not in self._sections:
            return ()
        if section in _NAMED:
            return tuple(path[:2]) if len(path) > 1 else () if section == "packs" else (section,)
        return (section,)
