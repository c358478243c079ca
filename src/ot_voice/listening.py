"""The parts of a listening assistant, built as the configuration says and closed together, and the names it knows."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager

import anyio

from ot.config.assistant import VoiceSettings
from ot.errors import CallError
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.isolate import IsolateHost
from ot.logs import write_log
from ot_voice import recognisers
from ot_voice.background_transcriber import Answers, BackgroundTranscriber
from ot_voice.consent import SpokenConsent
from ot_voice.ear import Ear, WakeWord, open_detector
from ot_voice.events import VoiceEvent
from ot_voice.grammar import MOST_NAMES, Names
from ot_voice.players import EspeakSpeaker, Player
from ot_voice.second_opinion import SecondOpinion
from ot_voice.sources import AudioSource

_PAUSE = 600.0  # seconds between two looks at the devices
_SOON = 15.0  # the same while a server that tells of devices is away
_MEMORY = 3 * 1024**3  # bytes of data that a recogniser may hold
_FOR_GOOD = 30 * 24 * 3600.0  # seconds: a model is loaded once, however long nobody speaks
CatchUp = Callable[[str], Awaitable[None]]


class LiveNames:
    """The current names, answered from memory; the task `keep_fresh` looks again from time to time.

    `catch_up` waits for servers that a text names for as long as they are being connected: a command that is heard
    before its device has a name would be taken for another one.
    """

    def __init__(self, executor: ToolExecutor, settings: VoiceSettings, *, catch_up: CatchUp) -> None:
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
    """Yield the names in a tool's result: a list of texts, or of entries with `name` and perhaps `location`."""
    # A device is spoken of by its name, or by place and name; a place alone is a name too ("how warm is the attic").
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


@asynccontextmanager
async def open_listening(
    source: AudioSource,
    answers: Answers | None,
    executor: ToolExecutor,
    *,
    settings: VoiceSettings,
    player: Player | None,
    watch: Callable[[VoiceEvent], None],
    catch_up: CatchUp,
    consent: SpokenConsent | None = None,
) -> AsyncIterator[BackgroundTranscriber]:
    """Listen to a source until the block ends; answers are spoken where there is a player. Raises VoiceError."""
    # `catch_up` waits for servers that a text names, as `ot.proxy.Servers` does; questions to `consent` are put aloud.
    waker = WakeWord(settings.wake_word, threshold=settings.wake_threshold) if settings.wake_word else None
    ear = Ear(open_detector(), settings.vad, waker=waker, window=settings.wake_window)
    names = LiveNames(executor, settings, catch_up=catch_up)
    speaker = EspeakSpeaker(player, voice=settings.voice, speed=settings.speed) if player is not None else None
    async with IsolateHost(memory=_MEMORY, idle_timeout=_FOR_GOOD) as host:
        recogniser = build_recogniser(host, names, settings)
        async with BackgroundTranscriber(
            source, ear, recogniser, answers, settings=settings, speaker=speaker, watch=watch, beside=names.keep_fresh
        ) as transcriber:
            if consent is not None:
                consent.put = transcriber.ask
            yield transcriber


def build_recogniser(host: IsolateHost, names: LiveNames, settings: VoiceSettings) -> recognisers.Recogniser:
    """Build the engine, with commands beside it if a second opinion is wanted; raises MissingVoiceError."""
    grammar = recognisers.GrammarRecogniser(host, names)
    if settings.engine == "grammar":
        grammar.require()
        return grammar
    free: recognisers.IsolatedRecogniser = recognisers.MoonshineRecogniser(host)
    if settings.engine == "faster-whisper":
        free = recognisers.FasterWhisperRecogniser(host, settings.whisper_model)
    free.require()  # commands alone would take every sentence for a command
    if not settings.second_opinion:
        return free
    return SecondOpinion(free, recognisers.CommandRecogniser(host, names), grammar)
