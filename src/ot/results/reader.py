"""ResultReader: what `ot.result` and `ot.load` ask of the store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path

import anyio
import anyio.to_thread

from mcp_core.json_types import JsonObject
from ot.config.models import ResultSettings
from ot.context import current_or_none
from ot.errors import ArgumentValueError, ExpiredResultError, ToolError, ToolFailedError
from ot.logs import LogSpan
from ot.results.lines import StoredValue
from ot.results.page import Query
from ot.results.store import ResultStore
from ot.results.stored_file import Facts, StoredFile
from ot.values import Arguments

SEARCH_LIMIT = 20.0  # seconds
SMALLEST_PAGE = 1_000  # characters
_SIMPLER = "a simpler regular expression, without repetitions inside repetitions, is faster"
_ELSEWHERE = "ot.load(handle=...) gives the value to code, which can look for itself"

Apart = Callable[[str, str, Arguments], Awaitable[object]]
"""Calls a function, named by module and name, where it can be killed: `IsolateHost.run`."""


class ResultReader:
    """Reads stored results; what may take long is done in a process that is killed when its time is over."""

    def __init__(
        self, store: ResultStore, settings: ResultSettings, *, apart: Apart, limit: float = SEARCH_LIMIT
    ) -> None:
        self._store = store
        self._settings = settings
        self._apart = apart
        self._limit = limit

    def apply(self, settings: ResultSettings) -> None:
        """Pages are to fit into answers of this size."""
        self._settings = settings

    async def query(self, handle: str, query: Query) -> JsonObject:
        """One page. Raises UnknownResultError, ExpiredResultError or ToolError."""
        with LogSpan("ot.result", handle=handle, offset=query.offset, limit=query.limit) as span:
            if query.search:
                span.add(search=query.search)
            # Quoting may take a third of the room, and the rest of the answer some.
            room = max(SMALLEST_PAGE, self._settings.inline_limit * 2 // 3)
            report = await self._read(handle, replace(query, room=room))
            span.add(returned=report["returned"])
            return report

    async def load(self, handle: str) -> StoredValue:
        """The value that is stored, still in its file."""
        return StoredValue((await self._look_up(handle))[0])

    async def facts(self, handle: str) -> Facts:
        """Describe what is stored, which tells something of it too. Raises as `query` does."""
        return (await self._look_up(handle))[1]

    async def _look_up(self, handle: str) -> tuple[Path, Facts]:
        """Find the file; the reader is marked with everything that its writer had read before."""
        file, facts, read_before = await anyio.to_thread.run_sync(self._look_up_now, handle)
        if (context := current_or_none()) is not None:
            context.caller.memory.note(read_before)
        return file, facts

    def _look_up_now(self, handle: str) -> tuple[Path, Facts, frozenset[str]]:
        file = self._store.find_now(handle)
        try:
            with StoredFile(file) as stored:
                return file, stored.facts, stored.read_before()
        except FileNotFoundError:
            raise ExpiredResultError(handle) from None  # in this very moment
        except (OSError, ValueError) as error:
            raise ToolError(f"the stored result cannot be read: {error}") from error

    async def _read(self, handle: str, query: Query) -> JsonObject:
        file, _ = await self._look_up(handle)
        try:
            page = await anyio.to_thread.run_sync(_read_light_page, file, query)
            if page is not None:
                return page
            with anyio.move_on_after(self._limit):
                found = await self._apart("ot.results.query", "read_page", {"file": str(file), "query": asdict(query)})
                assert isinstance(found, dict)
                return found
        except FileNotFoundError:
            raise ExpiredResultError(handle) from None  # in this very moment
        except ToolError as error:
            raise ArgumentValueError(error.message) from error  # it names the argument that makes no sense
        except ToolFailedError as error:
            if error.kind != "MemoryError":
                raise
            raise ToolError(f"it needs more memory than is available; {_ELSEWHERE}") from MemoryError()
        except ValueError as error:
            raise ToolError(f"the stored result cannot be read: {error}") from error
        way_out = _SIMPLER if query.search and not query.fuzzy else _ELSEWHERE
        raise ToolError(f"it took longer than {self._limit:g} s and was stopped; {way_out}") from TimeoutError()


def _read_light_page(file: Path, query: Query) -> JsonObject | None:
    from ot.results.query import read_light_page  # noqa: PLC0415 - loaded, on a thread, by the first who reads

    return read_light_page(file, query)
