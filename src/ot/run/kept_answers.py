"""The answers of detached runs that have ended: stored results, which are found by the id of their run.

Every server of a person finds them, a later one too. What cannot be stored is kept in memory as long as there is room.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import cast

import anyio.to_thread

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import dataclass, field, replace
from ot.clients.caller import Caller
from ot.errors import ExpiredResultError, ResultNotKeptError, UnknownResultError
from ot.results.reader import ResultReader
from ot.results.store import ResultStore
from ot.run.answer import Answer
from ot.run.live_run import ALPHABET
from ot.store.owner import Owner
from ot.store.results import KeptEntry, KeptNames
from ot.values import ToolValue
from ot_kernel.values import Audio, Image, Resource

MOST_UNSTORED = 32
_WITHOUT_ATTACHMENTS = "[Its pictures and other attachments could not be stored.]"
_RUN = re.compile(rf"r[{ALPHABET}]{{1,32}}")


@dataclass(eq=False, slots=True)
class KeptAnswers:
    """Keeps answers for one project; `names` are those of runs."""

    results: ResultStore
    reader: ResultReader
    names: KeptNames
    project: Path
    _unstored: OrderedDict[tuple[str, str], Answer] = field(default_factory=OrderedDict)

    async def keep(self, run: str, answer: Answer, *, principal: str, read_before: Collection[str]) -> None:
        """Keep an answer; `read_before` are guarded tools whose values may be in it."""
        content: dict[str, ToolValue] = {
            "is_error": answer.is_error,
            "text": answer.text,
            "attachments": list(answer.attachments),
        }
        if answer.shown is not None:
            content["shown"] = answer.shown
        try:
            stored = await self.results.keep_value(content, read_before=read_before)
            entry = KeptEntry(stored.handle, stored.facts.expires)
            put = partial(self.names.put, Owner(principal, self.project), run, entry, now=time.time())
            await anyio.to_thread.run_sync(put)
        except (ResultNotKeptError, OSError):
            text = f"{answer.text}\n{_WITHOUT_ATTACHMENTS}" if answer.attachments else answer.text
            self._unstored[principal, run] = replace(answer, text=text, attachments=())
            if len(self._unstored) > MOST_UNSTORED:
                self._unstored.popitem(last=False)

    async def find(self, run: str, caller: Caller) -> Answer | None:
        """Find an answer of this principal and project; raises ToolError if it is damaged."""
        if (caller.principal, run) in self._unstored:
            return self._unstored[caller.principal, run]
        if not _RUN.fullmatch(run):
            return None
        try:
            entry = await anyio.to_thread.run_sync(self.names.get, Owner(caller.principal, self.project), run)
            if entry is None:
                return None
            stored = await self.reader.load(entry.handle)
            content = await anyio.to_thread.run_sync(stored.read)
        except (ExpiredResultError, UnknownResultError):
            return None
        match content:
            case {"is_error": bool(is_error), "text": str(text), "attachments": list(given), **more}:
                attachments = tuple(each for each in given if isinstance(each, Image | Audio | Resource))
                shown = more.get("shown")
                return Answer(text, is_error, attachments, shown=cast("JsonObject", shown) if shown else None)
        return None
