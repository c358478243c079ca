"""The parts of a listening assistant, built as the configuration says and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ot.config.models import VoiceSettings
from ot.execution.tool_executor import ToolExecutor
from ot.isolate import IsolateHost
from ot_voice.background_transcriber import Answers, BackgroundTranscriber
from ot_voice.consent import SpokenConsent
from ot_voice.ear import Ear
from ot_voice.events import VoiceEvent
from ot_voice.live_names import LiveNames
from ot_voice.players import Player
from ot_voice.recognisers import (
    CommandRecogniser,
    FasterWhisperRecogniser,
    GrammarRecogniser,
    MoonshineRecogniser,
    Recogniser,
)
from ot_voice.second_opinion import SecondOpinion
from ot_voice.sources import AudioSource
from ot_voice.speech import EspeakSpeaker
from ot_voice.vad import SileroDetector
from ot_voice.wake_word import WakeWord

_MEMORY = 3 * 1024**3  # bytes of data that a recogniser may hold
_FOR_GOOD = 30 * 24 * 3600.0  # seconds: a model is loaded once, however long nobody speaks


@asynccontextmanager
async def open_listening(
    source: AudioSource,
    answers: Answers | None,
    executor: ToolExecutor,
    *,
    settings: VoiceSettings,
    player: Player | None,
    watch: Callable[[VoiceEvent], None],
    catch_up: Callable[[str], Awaitable[None]],
    consent: SpokenConsent | None = None,
) -> AsyncIterator[BackgroundTranscriber]:
    """Listen to a source until the block ends; answers are spoken where there is a player. Raises VoiceError.

    `catch_up` waits for servers that a text names, as `ot.proxy.Servers` does; questions to `consent` are put aloud.
    """
    ear = build_ear(settings)
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


def build_ear(settings: VoiceSettings) -> Ear:
    """Build speech detection, and the wake word if one is set; raises VoiceError."""
    waker = WakeWord(settings.wake_word, threshold=settings.wake_threshold) if settings.wake_word else None
    return Ear(SileroDetector(), settings.vad, waker=waker, window=settings.wake_window)


def build_recogniser(host: IsolateHost, names: LiveNames, settings: VoiceSettings) -> Recogniser:
    """Build the engine, with commands beside it if a second opinion is wanted; raises MissingVoiceError."""
    grammar = GrammarRecogniser(host, names)
    if settings.engine == "grammar":
        grammar.require()
        return grammar
    free = (
        FasterWhisperRecogniser(host, settings.whisper_model)
        if settings.engine == "faster-whisper"
        else MoonshineRecogniser(host)
    )
    free.require()  # commands alone would take every sentence for a command
    return SecondOpinion(free, CommandRecogniser(host, names), grammar) if settings.second_opinion else free
