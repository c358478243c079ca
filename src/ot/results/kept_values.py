"""KeptValues: what `ot.keep` leaves for later runs and `ot.kept` gives back: stored results under names.

A name belongs to a principal and a project. What it stands for is a stored result like any other, so it expires like
one, never crosses the server decoded, and carries the marks of what its writer had read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.nearest_names import nearest
from ot import errors
from ot.context import CallContext
from ot.errors import ArgumentValueError, ResultNotKeptError, RunRefusedError, ToolError
from ot.results.lines import StoredValue, WrittenValue
from ot.results.reader import ResultReader
from ot.results.store import ResultStore, Stored
from ot.store.owner import Owner
from ot.store.results import KeptEntry, KeptNames
from ot.values import ToolValue
from ot_kernel.values import UnsupportedValueError

KEEP = "ot.keep"
LONGEST_NAME = 64
_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{LONGEST_NAME - 1}}}")
_GONE = (errors.ExpiredResultError, errors.UnknownResultError)


class KeptValues:
    """Keeps values under names, and finds them again."""

    def __init__(
        self, results: ResultStore, reader: ResultReader, names: KeptNames, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._results = results
        self._reader = reader
        self._names = names
        self._clock = clock

    async def keep(self, context: CallContext, name: str, value: ToolValue) -> JsonObject:
        """Keep a value under a name; what had it stays if this fails. Raises ArgumentValueError or ToolError."""
        _check(name)
        try:
            stored = await self._store(value, context)
            entry = KeptEntry(stored.handle, stored.facts.expires)
            await anyio.to_thread.run_sync(self._name_now, _owner_of(context), name, entry)
        except (ResultNotKeptError, RunRefusedError) as error:
            raise ToolError(f"{name!r} was not kept: {error.reason}") from OSError(error.reason)
        except UnsupportedValueError as error:
            raise ToolError(f"{name!r} was not kept: {error}") from error
        return {"name": name, **self._describe(stored)}

    async def find(self, context: CallContext, name: str) -> StoredValue:
        """Return what is kept under a name, still in its file. Raises ArgumentValueError or ToolError."""
        _check(name)
        owner = _owner_of(context)
        try:
            entry = await anyio.to_thread.run_sync(self._names.get, owner, name)
        except OSError as error:
            raise ToolError(f"{name!r} cannot be looked up: {error.strerror or error}") from error
        if entry is None:
            known: list[str] = []
            entries = await anyio.to_thread.run_sync(self._names.entries, owner)
            for near in nearest(name, entries)[:20]:
                with suppress(*_GONE):
                    await self._reader.facts(entries[near].handle)  # who reads names has read what their writers had
                    known.append(near)
            words = f"these exist: {', '.join(known)}" if known else "create one with ot.keep(name=..., value=...)"
            raise ToolError(f"there is no kept value {name!r} in this project; {words}") from KeyError()
        try:
            return await self._reader.load(entry.handle)
        except _GONE:
            reason = f"the kept value {name!r} has expired and is gone (results.keep_for, results.max_size)"
            raise ToolError(f"{reason}; compute it and keep it again") from KeyError()

    async def describe_all(self, context: CallContext) -> list[JsonObject]:
        found: list[JsonObject] = []
        entries = await anyio.to_thread.run_sync(self._names.entries, _owner_of(context))
        handles = {entry.handle for entry in entries.values()}
        known = await anyio.to_thread.run_sync(partial(self._results.all_now, only=handles))
        by_handle = {stored.handle: stored for stored in known}
        for name, entry in entries.items():
            if (stored := by_handle.get(entry.handle)) is None:
                continue
            with suppress(*_GONE):
                if stored.facts.read_before:  # who reads names has read what their writers had
                    await self._reader.facts(entry.handle)
                found.append({"name": name, **self._describe(stored)})
        return found

    async def _store(self, value: ToolValue, context: CallContext) -> Stored:
        read = context.caller.memory.read
        if isinstance(value, WrittenValue):
            return await self._results.keep_file(value.opened, value.kind, what=value.what, read_before=read)
        return await self._results.keep_value(value, read_before=read)

    def _name_now(self, owner: Owner, name: str, entry: KeptEntry) -> None:
        try:
            before = self._names.put(owner, name, entry, now=self._clock())
        except OSError as error:
            self._results.let_go_now(entry.handle)
            raise ResultNotKeptError(error.strerror or str(error)) from error
        if before is not None:
            self._results.let_go_now(before.handle)

    def _describe(self, stored: Stored) -> JsonObject:
        facts, left = stored.facts, max(0, round(stored.facts.expires - self._clock()))
        about: JsonObject = {"type": facts.what, "size": facts.size, "lines": facts.lines, "expires_in": left}
        return {"handle": stored.handle, **about}


def _owner_of(context: CallContext) -> Owner:
    return Owner(context.caller.principal, context.project)


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ArgumentValueError(
            f"{name[: LONGEST_NAME + 1]!r} cannot name a kept value: a name has up to {LONGEST_NAME} letters, digits, "
            '"_", "-" and ".", and does not begin with one of the last two'
        )
