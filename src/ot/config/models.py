"""The configuration as frozen models: every key, its type, its bounds and its default.

A key without a value (`servers:` with nothing after it) means its default, so a section whose lines are all commented
out is no mistake. Paths are made absolute by the loader, which knows the file that names them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from ot.config.providers import ProviderName, ProviderSettings, with_provider_sections
from ot.config.section import Bytes, Count, Dollars, FilePath, Identifier, Name, Pattern, Seconds, Section, Share, Url
from ot.config.values import INCOMPLETE, check_server_name, check_target, mistake, read_offer, read_word


class ProjectSettings(Section):
    """A directory with a name; a bare path stands for `{path: ...}`."""

    path: FilePath
    attrs: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str | Path) else value


class SnippetParameter(Section):
    """One `key=value` of a snippet; without `default` it must be given."""

    description: str = ""
    default: Any | None = None

    @property
    def required(self) -> bool:
        """Whether the caller must give it; `default: null` is a default too."""
        return "default" not in self.model_fields_set


class SnippetSettings(Section):
    """A template of code, started as `$name key=value`."""

    description: str = ""
    params: dict[Identifier, SnippetParameter] = {}
    body: str


class ToolFilter(Section):
    """Which tools of a server are offered: shell patterns over its own tool names."""

    allow: tuple[Pattern, ...] = ("*",)
    deny: tuple[Pattern, ...] = ()


class OAuthSettings(Section):
    """Who we are to the authorization server of a url; without it, OneTool registers itself."""

    client_id: Name | None = None
    client_secret: str | None = Field(default=None, repr=False)
    client_metadata_url: Url | None = None
    scope: str | None = None
    port: Annotated[Count, Field(ge=1, le=65535)] | None = None


class ServerSettings(Section):
    """Another MCP server: started by `command`, or reached at `url`. What may hold a secret is not in its repr."""

    command: Name | None = None
    args: tuple[str, ...] = Field(default=(), repr=False)
    env: dict[str, str] = Field(default={}, repr=False)
    cwd: FilePath | None = None
    url: Url | None = Field(default=None, repr=False)
    headers: dict[str, str] = Field(default={}, repr=False)
    enabled: bool = True
    timeout: Seconds | None = None
    start_timeout: Seconds = 60
    tools: ToolFilter = ToolFilter.model_construct()
    json_text: bool = False  # text in its answers that is JSON becomes a value
    oauth: OAuthSettings = OAuthSettings.model_construct()

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> ServerSettings:
        if self.command is None and self.url is None:
            raise mistake("neither command nor url is given", "add one of the two", kind=INCOMPLETE)
        if self.command is not None and self.url is not None:
            raise mistake("both command and url are given", "remove one of the two")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise mistake("args, env and cwd belong to a command, not to a url", "remove them, or use headers")
        if self.command is not None and self.headers:
            raise mistake("headers belong to a url, not to a command", "remove them, or use env")
        if self.command is not None and "oauth" in self.model_fields_set:
            raise mistake("oauth belongs to a url, not to a command", "remove it, or use env")
        return self


class ExecutionSettings(Section):
    """The limits and the confinement of a run."""

    timeout: Seconds = 120
    memory: Bytes = 1024**3
    sandbox: Annotated[Literal["strict", "standard", "off"], BeforeValidator(read_word)] = "standard"
    warm: Annotated[Count, Field(ge=0, le=64)] = 4
    readable: tuple[FilePath, ...] = ()
    writable: tuple[FilePath, ...] = ()


class WorkerSettings(Section):
    """The processes of extensions."""

    idle_timeout: Seconds = 600
    call_timeout: Seconds = 60
    start_timeout: Seconds = 300
    launch: Annotated[Literal["direct", "uv-run"], BeforeValidator(read_word)] = "direct"


class ResultSettings(Section):
    """How much of an answer is text (characters), how long the rest is kept (seconds), and how much of it (bytes)."""

    inline_limit: Annotated[Count, Field(ge=1, le=10_000_000)] = 20_000
    keep_for: Seconds = 3600
    max_size: Bytes = 500 * 1024**2


class StatsSettings(Section):
    """Counting of calls and of what they cost; `keep_days` is how long it is remembered."""

    enabled: bool = True
    keep_days: Annotated[Count, Field(ge=1, le=3650)] = 365


class PolicySettings(Section):
    """Tools that are never called, and tools for which a person is asked: shell patterns over `pack.tool`."""

    deny: tuple[Pattern, ...] = ()
    ask: tuple[Pattern, ...] = ()


class SecuritySettings(Section):
    """Trust in what other servers say about themselves."""

    pin_tools: bool = False


class TopicSettings(Section):
    """The file that receives what is published under a topic; `pattern` is a shell pattern."""

    pattern: Pattern
    file: FilePath


class PromptSettings(Section):
    """Words of the person that are shown with a pack."""

    packs: dict[str, str] = {}


class PackSettings(Section):
    """One pack: the time of its calls, and whatever keys the pack itself reads."""

    model_config = ConfigDict(extra="allow")

    timeout: Seconds | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The pack's own keys, as a new dict."""
        return dict(self.model_extra or {})

    def __repr_args__(self) -> Any:
        yield "timeout", self.timeout  # the pack's own keys may hold secrets


class LogSettings(Section):
    """What is logged, and whether to a file instead of stderr."""

    level: Annotated[Literal["trace", "debug", "info", "warning", "error"], BeforeValidator(read_word)] = "info"
    file: FilePath | None = None


class PriceSettings(Section):
    """What a model costs, in US dollars for a million tokens; without prices for its cache that is not known."""

    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_write: Dollars | None = None


class MemorySettings(Section):
    """How much of a conversation the model is shown; the oldest of it goes first."""

    messages: Annotated[Count, Field(ge=2, le=100_000)] = 400
    characters: Annotated[Count, Field(ge=1000, le=100_000_000)] = 400_000


@with_provider_sections
class AiSettings(Section):
    """The assistant: who answers, with which tools, and within which bounds."""

    provider: ProviderName = "anthropic"
    failover: ProviderName | None = None
    tools: Annotated[tuple[Pattern, ...], BeforeValidator(read_offer)] = ("onetool.run",)
    system: str = ""
    max_tokens: Annotated[Count, Field(ge=1, le=1_000_000)] = 8192
    max_rounds: Annotated[Count, Field(ge=1, le=1000)] = 40
    max_parallel: Annotated[Count, Field(ge=1, le=64)] = 8
    retries: Annotated[Count, Field(ge=0, le=20)] = 4
    timeout: Seconds = 300
    memory: MemorySettings = MemorySettings.model_construct()
    prices: dict[Pattern, PriceSettings] = {}

    def section(self, provider: str) -> ProviderSettings:
        """Return the settings of one provider."""
        found: ProviderSettings = getattr(self, provider)
        return found


class VadSettings(Section):
    """What counts as speech: probabilities, and seconds."""

    threshold: Share = 0.5
    release: Share = 0.35
    min_speech: Seconds = 0.25
    min_silence: Seconds = 0.7
    padding: Seconds = 0.4
    max_length: Annotated[Seconds, Field(ge=1, le=300)] = 15

    @model_validator(mode="after")
    def _ends_below_where_it_begins(self) -> VadSettings:
        if self.release > self.threshold:
            raise mistake("release is above threshold", "speech would end before it begins: swap them")
        return self


class VoiceSettings(Section):
    """The assistant that listens: how it hears and how it speaks."""

    engine: Annotated[Literal["moonshine", "faster-whisper", "grammar"], BeforeValidator(read_word)] = "moonshine"
    whisper_model: Name = "base.en"
    second_opinion: bool = True
    names: tuple[Name, ...] = ()
    names_from: tuple[Name, ...] = ("zwave.devices",)
    wake_word: Annotated[Name, BeforeValidator(read_word)] | None = None
    wake_threshold: Share = 0.5
    wake_window: Seconds = 8
    speaker: Annotated[Literal["espeak", "off"], BeforeValidator(read_word)] = "espeak"
    voice: Name = "en-us"
    speed: Annotated[Count, Field(ge=80, le=450)] = 165  # words a minute
    barge_in: bool = True
    queue: Annotated[Count, Field(ge=1, le=100)] = 3
    recognition_timeout: Seconds = 20
    microphone: Name | None = None
    vad: VadSettings = VadSettings.model_construct()


class Config(Section):
    """Everything a person can set; each part of the engine receives its section."""

    projects: dict[Name, ProjectSettings] = {}
    aliases: dict[Identifier, Annotated[str, AfterValidator(check_target)]] = {}
    snippets: dict[Identifier, SnippetSettings] = {}
    servers: dict[Annotated[str, AfterValidator(check_server_name)], ServerSettings] = {}
    execution: ExecutionSettings = ExecutionSettings.model_construct()
    workers: WorkerSettings = WorkerSettings.model_construct()
    results: ResultSettings = ResultSettings.model_construct()
    stats: StatsSettings = StatsSettings.model_construct()
    policy: PolicySettings = PolicySettings.model_construct()
    security: SecuritySettings = SecuritySettings.model_construct()
    topics: tuple[TopicSettings, ...] = ()
    prompts: PromptSettings = PromptSettings.model_construct()
    packs: dict[Name, PackSettings] = {}
    log: LogSettings = LogSettings.model_construct()
    ai: AiSettings = AiSettings.model_construct()
    voice: VoiceSettings = VoiceSettings.model_construct()
    docs_url: Url = "https://onetool.beycom.online/reference/tools/"
