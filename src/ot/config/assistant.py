"""The settings of the assistant: its models, its conversations, its voice."""

from __future__ import annotations

from typing import Annotated, Literal

from ot.config.providers import ProviderName, ProviderSettings, with_provider_sections
from ot.config.reading import Before, Bounds
from ot.config.section import Bytes, Count, Days, Dollars, Name, Pattern, Seconds, Section, Share, setting, subsection
from ot.config.values import REQUIRED, mistake, read_offer, read_word


class PriceSettings(Section):
    """The price of a model in US dollars per million tokens; without cache prices, that cost is unknown."""

    input: Dollars = setting(REQUIRED, "US dollars per million tokens, for models whose name matches the pattern")
    output: Dollars = setting(REQUIRED, "the same for tokens that the model writes")
    cache_read: Dollars | None = setting(None, "the same for tokens read from the provider's cache")
    cache_write: Dollars | None = setting(None, "the same for tokens written to it")


class MemorySettings(Section):
    """The part of a conversation that the model sees."""

    messages: Annotated[Count, Bounds(ge=2, le=100_000)] = setting(
        400, "messages of a conversation shown to the model; the oldest are dropped first"
    )
    characters: Annotated[Count, Bounds(ge=1000, le=100_000_000)] = setting(
        400_000, "characters of a conversation shown to the model"
    )


class ConversationSettings(Section):
    """Conversations that `onetool chat --continue` can continue."""

    enabled: bool = setting(True, "whether conversations are kept ([assistant.md](assistant.md#going-on-later))")
    keep_days: Days = setting(90, "days that a conversation is kept after its last answer")
    max_size: Bytes = setting(50 * 1024**2, "size of all conversations; the oldest are deleted first")


@with_provider_sections
class AiSettings(Section):
    """The assistant of `onetool chat` and `onetool listen`, and the models of the pack `llm`."""

    provider: ProviderName = setting("anthropic", "who answers in `onetool chat` ([The assistant](assistant.md))")
    failover: ProviderName | None = setting(None, "who answers when the provider does not")
    tools: Annotated[tuple[Pattern, ...], Before(read_offer)] = setting(
        ("onetool.run",), "the tools offered to the model: `run`, which runs code, or patterns of `pack.tool`"
    )
    system: str = setting("", "instructions to the model before every conversation; if empty, OneTool's own")
    max_tokens: Annotated[Count, Bounds(ge=1, le=1_000_000)] = setting(8192, "tokens in one turn of the model")
    max_rounds: Annotated[Count, Bounds(ge=1, le=1000)] = setting(40, "rounds of tool calls in one answer")
    max_parallel: Annotated[Count, Bounds(ge=1, le=64)] = setting(8, "calls in one round that are made at once")
    retries: Annotated[Count, Bounds(ge=0, le=20)] = setting(
        4, "how often an overloaded or broken provider is asked again"
    )
    timeout: Seconds = setting(300, "seconds within which the provider must send something")
    memory: MemorySettings = subsection(MemorySettings)
    conversations: ConversationSettings = subsection(ConversationSettings)
    prices: dict[Pattern, PriceSettings] = setting(
        {}, "what models cost, by patterns of their names", example={"llama*": {"input": 0, "output": 0}}
    )

    def section(self, provider: str) -> ProviderSettings:
        found: ProviderSettings = getattr(self, provider)
        return found


class VadSettings(Section):
    """Speech detection: probabilities and seconds."""

    threshold: Share = setting(0.5, "probability at which speech begins")
    release: Share = setting(0.35, "probability below which it ends")
    min_speech: Seconds = setting(0.25, "seconds of speech needed for an utterance")
    min_silence: Seconds = setting(0.7, "seconds of silence that end an utterance")
    padding: Seconds = setting(0.4, "seconds kept around an utterance")
    max_length: Annotated[Seconds, Bounds(ge=1, le=300)] = setting(15, "seconds that an utterance may last")

    def model_check(self) -> None:
        if self.release > self.threshold:
            raise mistake("release is above threshold", "speech would end before it begins: swap them")


class VoiceSettings(Section):
    """How `onetool listen` hears and speaks."""

    engine: Annotated[Literal["moonshine", "faster-whisper", "grammar"], Before(read_word)] = setting(
        "moonshine", "what turns speech into words"
    )
    whisper_model: Name = setting("base.en", "the faster-whisper model, if that is the engine")
    second_opinion: bool = setting(True, "whether a command grammar listens too ([Talk to it](voice.md))")
    names: tuple[Name, ...] = setting((), "names of devices and rooms that the grammar knows")
    names_from: tuple[Name, ...] = setting(("zwave.devices",), "tools that supply more names")
    wake_word: Annotated[Name, Before(read_word)] | None = setting(
        None, "answer only after this word: `alexa`, `hey_jarvis`, `hey_mycroft`, `hey_rhasspy` or `okay_nabu`"
    )
    wake_threshold: Share = setting(0.5, "how certain the wake word must be")
    wake_window: Seconds = setting(8, "seconds after the wake word within which speech must begin")
    speaker: Annotated[Literal["espeak", "off"], Before(read_word)] = setting("espeak", "what speaks the answers")
    voice: Name = setting("en-us", "the espeak-ng voice (`espeak-ng --voices` lists them)")
    speed: Annotated[Count, Bounds(ge=80, le=450)] = setting(165, "words per minute")
    answer_window: Seconds = setting(8, "seconds after a question within which a yes must begin; silence is a no")
    barge_in: bool = setting(True, "whether speech stops an answer")
    queue: Annotated[Count, Bounds(ge=1, le=100)] = setting(3, "utterances that may wait; the oldest is dropped")
    recognition_timeout: Seconds = setting(20, "seconds that recognising an utterance may take")
    microphone: Name | None = setting(None, "name or number of the microphone; if not set, the system's default")
    vad: VadSettings = subsection(VadSettings)
