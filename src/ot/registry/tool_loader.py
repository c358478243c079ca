"""ToolLoader: finds the packs of a folder, registers their tools, and imports a pack only when one is called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from functools import partial
from itertools import islice
from pathlib import Path
from types import CoroutineType
from typing import Protocol, TypeVar

from ot.errors import PackLoadError
from ot.registry.definitions import Cancellation, Libraries, PackDefinition, ToolDefinition, Touches
from ot.registry.from_source import read_pack
from ot.registry.pack_module import PackModule
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
        self,
        module: str,
        function: str,
        arguments: Arguments,
        *,
        touches: Touches | None = None,
        libraries: Libraries | None = None,
    ) -> ToolValue: ...


class ToolLoader:
    """Turns pack files into registered tools."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        isolate: Isolate | None = None,
        threads: ToolThreads | None = None,
        read: Callable[[Path], PackDefinition] = read_pack,
    ) -> None:
        self._registry = registry
        self._read = read
        self._isolate = isolate
        self._threads = threads or ToolThreads()

    def load_folder(self, folder: Path) -> None:
        """Register every pack of a folder; a file that cannot be read is reported and does not affect the others."""
        for file in self.pack_files(folder):
            try:
                self._registry.register_pack(*self.read_file(file))
            except PackLoadError as problem:
                self._registry.problems.append(problem)

    @staticmethod
    def pack_files(folder: Path) -> list[Path]:
        """The files of a folder that are packs."""
        return [file for file in sorted(folder.glob("*.py")) if not file.name.startswith("_")]

    def read_file(self, file: Path, *, fresh: bool = False) -> tuple[PackDefinition, dict[str, ToolFunction]]:
        """One pack file, with the function of each tool; raises PackLoadError.

        With `fresh`, what was imported from it before is not used any more.
        """
        pack = self._read(file)
        module = PackModule(file, self._registry.problems, fresh=fresh)
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
                loaded: AsyncFunction = await self._threads.run(partial(module.function, definition.tool))
                known = function = loaded
            answer = known(**arguments) if variadic is None else _invoke(known, arguments, variadic)
            if type(answer) is not CoroutineType and isinstance(answer, AsyncGenerator):
                return await _drain_async(answer)
            value = await answer
            return value if type(value) in _AT_REST else _drained(value)

        return call

    def _plain(self, definition: ToolDefinition, module: PackModule) -> ToolFunction:
        run, tool, variadic = self._threads.run, definition.tool, definition.variadic
        known: Callable[..., ToolValue] | None = None

        def work(arguments: dict[str, ToolValue]) -> ToolValue:
            nonlocal known
            if known is None:
                known = module.function(tool)
            return _drained(_invoke(known, arguments, variadic))

        async def call(arguments: dict[str, ToolValue]) -> ToolValue:
            return await run(partial(work, arguments))

        return call

    def _isolated(self, definition: ToolDefinition, module: PackModule, libraries: Libraries | None) -> ToolFunction:
        if self._isolate is None:
            raise PackLoadError(module.file, f"{definition.name} is isolated, and this server has no helper processes")
        run = partial(
            self._isolate.run, module.reference, definition.tool, touches=definition.touches, libraries=libraries
        )

        async def call(arguments: dict[str, ToolValue]) -> ToolValue:
            return await run(arguments)

        return call


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
