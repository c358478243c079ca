"""ToolLoader: finds the packs of a folder, registers their tools, and imports a pack only when one is called.

BuiltInPacks: the packs that come with OneTool, and which of them have changed on disk since they were read.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import islice
from pathlib import Path
from types import CoroutineType
from typing import Protocol, TypeVar

from mcp_core.quick_dataclass import dataclass, field
from ot.errors import PackLoadError
from ot.registry.definitions import Cancellation, Libraries, PackDefinition, ToolDefinition, Touches
from ot.registry.from_source import read_pack
from ot.registry.pack_module import FileState, PackModule, file_state
from ot.registry.places import OfferedPack, PackPlaces, offer_registered
from ot.registry.registry import ToolFunction, ToolRegistry
from ot.registry.tool_threads import ToolThreads
from ot.values import Arguments, ToolValue
from ot_kernel.values import MAX_DRAINED, UnsupportedValueError

T = TypeVar("T")
AsyncFunction = Callable[..., Awaitable[ToolValue] | AsyncGenerator[ToolValue, None]]
_AT_REST = frozenset({str, int, float, bool, type(None), dict, list})


class Isolate(Protocol):
    """Carries out isolated tools: `ot.isolate.IsolateHost`."""

    async def run(
        self, module: str, function: str, arguments: Arguments, *, touches: Touches, libraries: Libraries | None
    ) -> ToolValue: ...


@dataclass(eq=False)
class ToolLoader:
    registry: ToolRegistry
    isolate: Isolate | None = None
    threads: ToolThreads = field(default_factory=ToolThreads)
    read: Callable[[Path], PackDefinition] = read_pack

    def load_folder(self, folder: Path) -> None:
        """Register every pack of a folder; a file that cannot be read is reported and does not affect the others."""
        for file in self.pack_files(folder):
            try:
                self.registry.register_pack(*self.read_file(file))
            except PackLoadError as problem:
                self.registry.problems.append(problem)

    @staticmethod
    def pack_files(folder: Path) -> list[Path]:
        """The files of a folder that are packs."""
        return [file for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]

    def read_file(self, file: Path, *, fresh: bool = False) -> tuple[PackDefinition, dict[str, ToolFunction]]:
        """One pack file, with the function of each tool, imported again if `fresh`; raises PackLoadError."""
        pack = self.read(file)
        module = PackModule(file, self.registry.problems, fresh=fresh)
        functions = {tool: self._function(definition, module, pack) for tool, definition in pack.tools.items()}
        return pack, functions

    def _function(self, definition: ToolDefinition, module: PackModule, pack: PackDefinition) -> ToolFunction:
        match definition.cancellation:
            case Cancellation.ISOLATED:
                return self._isolated(definition, module, pack.libraries)
            case Cancellation.PLAIN:
                return self._plain(definition, module)
            case _:
                return self._awaited(definition, module)

    def _awaited(self, definition: ToolDefinition, module: PackModule) -> ToolFunction:
        function: AsyncFunction | None = None
        variadic = definition.variadic

        async def call(arguments: dict[str, ToolValue]) -> ToolValue:
            nonlocal function
            known = function
            if known is None:
                # An import can take a second; the server answers others meanwhile.
                loaded: AsyncFunction = await self.threads.run(partial(module.function, definition.tool))
                known = function = loaded
            answer = known(**arguments) if variadic is None else _invoke(known, arguments, variadic)
            if type(answer) is not CoroutineType and isinstance(answer, AsyncGenerator):
                return await _drain_async(answer)
            value = await answer
            return value if type(value) in _AT_REST else _drained(value)

        return call

    def _plain(self, definition: ToolDefinition, module: PackModule) -> ToolFunction:
        run, tool, variadic = self.threads.run, definition.tool, definition.variadic
        known: Callable[..., ToolValue] | None = None

        def work(arguments: dict[str, ToolValue]) -> ToolValue:
            nonlocal known
            if known is None:
                known = module.function(tool)
            return _drained(_invoke(known, arguments, variadic))

        return lambda arguments: run(partial(work, arguments))

    def _isolated(self, definition: ToolDefinition, module: PackModule, libraries: Libraries | None) -> ToolFunction:
        if self.isolate is None:
            raise PackLoadError(module.file, f"{definition.name} is isolated, and this server has no helper processes")
        run, reference, touches = self.isolate.run, module.reference, definition.touches
        return lambda arguments: run(reference, definition.tool, arguments, touches=touches, libraries=libraries)


def _invoke(function: Callable[..., T], arguments: dict[str, ToolValue], variadic: str | None) -> T:
    if variadic is None:
        return function(**arguments)
    rest = {name: value for name, value in arguments.items() if name != variadic}
    given = arguments.get(variadic)
    return function(*(given if isinstance(given, Iterable) else ()), **rest)


def _drained(value: ToolValue) -> ToolValue:
    """A value at rest: an iterator becomes a list here, inside the call and its time limit."""
    if type(value) in _AT_REST or not isinstance(value, Iterator) or hasattr(value, "fileno"):
        return value
    items = list(islice(value, MAX_DRAINED + 1))
    if len(items) > MAX_DRAINED:
        raise UnsupportedValueError(f"an iterator of more than {MAX_DRAINED} items", "the result")
    return items


async def _drain_async(generator: AsyncGenerator[ToolValue, None]) -> list[ToolValue]:
    items: list[ToolValue] = []
    async with aclosing(generator):
        async for item in generator:
            if len(items) == MAX_DRAINED:
                raise UnsupportedValueError(f"an iterator of more than {MAX_DRAINED} items", "the result")
            items.append(item)
    return items


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
        return [each.offered for each in self._files.values() if each.offered is not None]

    def look(self) -> dict[Path, PackFile] | None:
        """Return all files as they are now, the changed ones read again; None if nothing has changed. Blocking."""
        now = dict(self._find())
        if now == {file: known.state for file, known in self._files.items()}:
            return None
        known = {file: each for file, each in self._files.items() if each.state == now.get(file)}
        return {file: known.get(file) or self._read(file, state) for file, state in now.items()}

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
