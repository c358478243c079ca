"""BuiltInPacks: the packs that come with OneTool, and which of them have changed on disk since they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import PackLoadError
from ot.registry.pack_module import FileState, file_state
from ot.registry.places import OfferedPack, PackPlaces, offer_registered
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader


@dataclass(frozen=True, slots=True)
class PackFile:
    """One file as it was read; no pack where it could not be."""

    state: FileState
    offered: OfferedPack | None
    problem: PackLoadError | None = None


class BuiltInPacks:
    """Made when the packs have just been loaded; `look` may run on a thread, `apply` belongs to the event loop."""

    def __init__(self, folders: Sequence[Path], loader: ToolLoader, registry: ToolRegistry) -> None:
        self._folders = folders
        self._loader = loader
        self._registry = registry
        by_file = {pack.file: pack for pack in registry.packs()}
        self._files = {
            file: PackFile(state, offer_registered(by_file[file], registry) if file in by_file else None)
            for file, state in self._find()
        }

    def offered(self) -> list[OfferedPack]:
        """Every pack that can be used."""
        return [each.offered for each in self._files.values() if each.offered is not None]

    def look(self) -> dict[Path, PackFile] | None:
        """Return all files as they are now, the changed ones read again; None if nothing has changed. Blocking."""
        now = dict(self._find())
        if now == {file: known.state for file, known in self._files.items()}:
            return None
        return {file: self._known(file, state) or self._read(file, state) for file, state in now.items()}

    def apply(self, files: dict[Path, PackFile], places: PackPlaces, *, changed: Callable[[Path], None]) -> None:
        """Put what was found into the registry at one go; `changed` is told of each file that is not as it was."""
        differing = {file for file in {*self._files, *files} if self._files.get(file) is not files.get(file)}
        problems = self._registry.problems
        problems[:] = [problem for problem in problems if problem.file not in differing]
        problems += [found for file in differing if file in files and (found := files[file].problem) is not None]
        self._files = files
        problems += places.replace_built_in(self.offered())
        for file in differing:
            changed(file)

    def _known(self, file: Path, state: FileState) -> PackFile | None:
        known = self._files.get(file)
        return known if known is not None and known.state == state else None

    def _read(self, file: Path, state: FileState) -> PackFile:
        try:
            pack, functions = self._loader.read_file(file, fresh=True)
        except PackLoadError as problem:
            return PackFile(state, None, problem)
        return PackFile(state, OfferedPack(pack, partial(self._registry.register_pack, functions=functions)))

    def _find(self) -> Iterator[tuple[Path, FileState]]:
        for folder in self._folders:
            for file in self._loader.pack_files(folder):
                if (state := file_state(file)) is not None:
                    yield file, state
