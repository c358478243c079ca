"""The catalogue of what can be searched, made on first use and again after every change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ot import introspect
from ot.config.models import Config
from ot.registry.registry import ToolRegistry
from ot.store.shelf import Shelf
from ot.tasks.large_values import make_many

if TYPE_CHECKING:  # Only a search needs the words and the ranking: `introspect` loads them.
    from ot.introspect.help import Catalogue


WORDS_FOLDER = "words"  # in the state folder


class Finder:
    """A catalogue, kept for as long as it is true; what takes long to read of many tools is kept in a state folder."""

    def __init__(self, registry: ToolRegistry, state: Path | None = None) -> None:
        self._registry = registry
        self._shelf = Shelf(state / WORDS_FOLDER) if state is not None else None
        self._version = -1  # of the registry, and the configuration, that the catalogue was made of
        self._config: Config | None = None
        self._catalogue: Catalogue | None = None

    async def catalogue(self, config: Config) -> Catalogue:
        """Return what can be found now; it is made on a thread, since there may be many tools."""
        known = self._catalogue
        if known is None or self._version != self._registry.version or self._config is not config:
            tools, packs = self._registry.definitions(), self._registry.packs()  # reads packs that came late, too
            version, off = self._registry.version, self._registry.switched_off_packs()
            known = await make_many(introspect.Catalogue, tools, packs, config, off, self._shelf)
            self._catalogue, self._version, self._config = known, version, config
        return known
