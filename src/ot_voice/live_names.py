"""The names that can be spoken of right now: every tool, and the devices that configured tools tell of."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import anyio

from ot.config.models import VoiceSettings
from ot.errors import CallError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.logs import write_log
from ot_voice.grammar import MOST_NAMES, Names

_PAUSE = 600.0  # seconds between two looks at the devices
_FIRST = 15.0  # seconds in which a server that tells of devices should be there
_RETRY = 0.5


class LiveNames:
    """Asked often and answered from memory; `keep_fresh`, a task, looks again from time to time."""

    def __init__(self, executor: ToolExecutor, settings: VoiceSettings) -> None:
        self._executor = executor
        self._given = settings.names
        self._sources = settings.names_from
        self._devices: tuple[str, ...] = ()
        self._known = anyio.Event()

    async def __call__(self) -> Names:
        """Names as they are; right after the start this waits a little for the first look."""
        with anyio.move_on_after(_FIRST):
            await self._known.wait()
        tools = tuple(definition.name for definition in self._executor.registry.definitions())
        return Names((*self._given, *self._devices), tools)

    async def keep_fresh(self) -> None:
        """Look again until cancelled: devices come, go and get other names."""
        with anyio.move_on_after(_FIRST):
            while any(map(self._is_pending, self._sources)):  # noqa: ASYNC110 - the registry tells nobody of news
                await anyio.sleep(_RETRY)
        while True:
            await self.refresh()
            self._known.set()
            await anyio.sleep(_PAUSE)

    async def refresh(self) -> None:
        """Ask the configured tools for the names of devices; one that fails leaves the names as they were."""
        devices: dict[str, None] = {}
        for source in filter(self._is_there, self._sources):
            try:
                devices.update(dict.fromkeys(find_names(await self._executor.call(source, {}))))
            except CallError as error:
                write_log(logging.WARNING, "voice.names", tool=source, error=word_error(error))
                return
        self._devices = tuple(devices)[:MOST_NAMES]

    def _is_there(self, tool: str) -> bool:
        try:
            self._executor.registry.get(tool)
        except CallError:
            return False
        return True

    def _is_pending(self, tool: str) -> bool:
        """Whether its server is configured and has not told of its tools yet."""
        server = self._executor.settings.servers.get(tool.partition(".")[0])
        return server is not None and server.enabled and not self._is_there(tool)


def find_names(value: Any) -> Iterator[str]:
    """Names in what a tool gave: a list of texts, or of entries with `name` and perhaps `location`; in an envelope too.

    A device is spoken of by its name, or by its place and name; a place alone is a name too ("how warm is the attic").
    """
    if isinstance(value, Mapping):
        value = next((item for item in value.values() if isinstance(item, list | tuple)), list(value.values()))
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        return
    for item in value:
        name, place = (item, "") if isinstance(item, str) else (_text(item, "name"), _text(item, "location"))
        if name:
            yield name
        if place:
            yield place
            if name and place.casefold() not in name.casefold():
                yield f"{place} {name}"


def _text(item: Any, field: str) -> str:
    value = item.get(field, "") if isinstance(item, Mapping) else getattr(item, field, "")
    return value if isinstance(value, str) else ""
