"""The names that can be spoken right now: every tool, and the devices that configured tools list."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

import anyio

from ot.config.models import VoiceSettings
from ot.errors import CallError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.logs import write_log
from ot_voice.grammar import MOST_NAMES, Names

_PAUSE = 600.0  # seconds between two looks at the devices
_SOON = 15.0  # the same while a server that tells of devices is away


class LiveNames:
    """The current names, answered from memory; the task `keep_fresh` looks again from time to time.

    `catch_up` waits for servers that a text names for as long as they are being connected: a command that is heard
    before its device has a name would be taken for another one.
    """

    def __init__(
        self, executor: ToolExecutor, settings: VoiceSettings, *, catch_up: Callable[[str], Awaitable[None]]
    ) -> None:
        self._executor = executor
        self._given = settings.names
        self._sources = settings.names_from
        self._catch_up = catch_up
        self._devices: tuple[str, ...] = ()
        self._known = anyio.Event()

    async def __call__(self) -> Names:
        """Return the names as they are; right after the start this waits for the first look."""
        await self._known.wait()
        tools = tuple(definition.name for definition in self._executor.registry.definitions())
        return Names((*self._given, *self._devices), tools)

    async def keep_fresh(self) -> None:
        """Look again until cancelled: devices come, go and get other names."""
        while True:
            await self._catch_up(" ".join(self._sources))
            await self.refresh()
            self._known.set()
            await anyio.sleep(_SOON if any(map(self._is_away, self._sources)) else _PAUSE)

    async def refresh(self) -> None:
        """Ask the configured tools for the names of devices; one that fails leaves the names as they were."""
        devices: dict[str, None] = {}
        for source in filter(self._executor.registry.has, self._sources):
            try:
                devices.update(dict.fromkeys(find_names(await self._executor.call(source, {}))))
            except CallError as error:
                write_log(logging.WARNING, "voice.names", tool=source, error=word_error(error))
                return
        self._devices = tuple(devices)[:MOST_NAMES]

    def _is_away(self, tool: str) -> bool:
        """True if its server is configured and has not told of its tools yet."""
        server = self._executor.settings.servers.get(tool.partition(".")[0])
        return server is not None and server.enabled and not self._executor.registry.has(tool)


def find_names(value: object) -> Iterator[str]:
    """Yield the names in a tool's result: a list of texts, or of entries with `name` and perhaps `location`.

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


def _text(item: object, field: str) -> str:
    value = item.get(field, "") if isinstance(item, Mapping) else getattr(item, field, "")
    return value if isinstance(value, str) else ""
