"""The configuration as frozen models: every key, its type, its bounds, its default and its description.

A key without a value (`servers:` with nothing after it) means its default, so a section whose lines are all commented
out is no mistake. Paths are made absolute by the loader, which knows the file that names them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ot.config.confine import ConfineSettings
from ot.config.providers import ProviderName, ProviderSettings, with_provider_sections
from ot.config.reading import After, Before, Bounds
from ot.config.section import (
    Bytes,
    Count,
    Days,
    Dollars,
    FilePath,
    Identifier,
    Name,
    Pattern,
    Seconds,
    SecondsOrOff,
    Section,
    Share,
    Url,
    subsection,
    with_key,
)
from ot.config.settings import (
    AT_ONCE,
    BELOW,
    INTERSECTION,
    NEXT_START,
    PERSON,
    PROJECT,
    REQUIRED,
    SMALLER,
    STAYS_OFF,
    STAYS_ON,
    STRICTER,
    UNION,
    setting,
)
from ot.config.team import (
    EMBEDDED_STORE,
    AuthSettings,
    GrantSettings,
    SealSettings,
    Store,
    TeamLimits,
    TelemetrySettings,
)
from ot.config.values import INCOMPLETE, check_server_name, check_target, mistake, read_offer, read_word


class ProjectSettings(Section):
    """A directory with a name; a bare path stands for `{path: ...}`."""

    path: FilePath = setting(REQUIRED, "the folder that `proj.<name>` stands for; short form: `<name>: <folder>`")
    attrs: dict[str, object] = setting({}, "your own values, kept with the project", example={"language": "en"})

    @classmethod
    def model_spell_out(cls, value: object) -> object:
        return {"path": value} if isinstance(value, str | Path) else value


class SnippetParameter(Section):
    """One `key=value` of a snippet; without `default` it must be given."""

    description: str = setting("", "what the parameter is for")
    default: object | None = setting(None, "its value if none is given; without a default, one must be")

    @property
    def required(self) -> bool:
        """True if the caller must give it; `default: null` is a default too."""
        return "default" not in self.model_fields_set


class SnippetSettings(Section):
    """A code template, run as `$name key=value`."""

    description: str = setting("", "what the snippet is for")
    params: dict[Identifier, SnippetParameter] = setting({}, "the parameters that `body` uses")
    body: str = setting(REQUIRED, "Python with Jinja2 expressions; `$<name> key=value` runs it")


class ToolFilter(Section):
    """The tools of the server that are offered: shell patterns over its own tool names."""

    allow: tuple[Pattern, ...] = setting(("*",), "patterns of the tools that are offered", layers=INTERSECTION)
    deny: tuple[Pattern, ...] = setting((), "patterns of the tools that are not offered, even if allowed", layers=UNION)


class OAuthSettings(Section):
    """The login at a `url`; without a client of its own, OneTool registers itself."""

    client_id: Name | None = setting(None, "the client that OneTool logs in as; if not set, OneTool registers itself")
    client_secret: str | None = setting(None, "the password of that client", hidden=True)
    client_metadata_url: Url | None = setting(
        None, "the address of a document that describes the client, for servers that accept one"
    )
    scope: str | None = setting(None, "the permissions to ask for, if the server names none")
    port: Annotated[Count, Bounds(ge=1, le=65535)] | None = setting(
        None, "the local port that a login returns to; if not set, a free one is chosen"
    )


class ServerSettings(Section):
    """Another MCP server: started by `command`, or reached at `url`. What may hold a secret is not in its repr."""

    command: Name | None = setting(None, "the program that starts the server; set either this or `url`")
    args: tuple[str, ...] = setting((), "its arguments", hidden=True)
    env: dict[str, str] = setting({}, "variables added to its environment", hidden=True)
    cwd: FilePath | None = setting(None, "the folder it starts in")
    url: Url | None = setting(None, "the address of a server that is already running", hidden=True)
    headers: dict[str, str] = setting({}, "HTTP headers sent to it", hidden=True)
    enabled: bool = setting(True, "`false` leaves the server out", layers=STAYS_OFF)
    timeout: Seconds | None = setting(None, "seconds that a call to it may take", layers=SMALLER)
    start_timeout: Seconds = setting(
        60, "seconds until it must be ready; this time does not count towards other limits", layers=SMALLER
    )
    listing_timeout: Seconds = setting(
        10, "seconds that a listing waits for it, as long as nothing is known of its tools", layers=SMALLER
    )
    tools: ToolFilter = subsection(ToolFilter)
    json_text: bool = setting(False, "`true` turns JSON text in its answers into values")
    oauth: OAuthSettings = subsection(OAuthSettings)
    confine: ConfineSettings | None = setting(
        None, "what its process may access; `{}` allows its own files and a temporary folder, and no network"
    )

    def model_check(self) -> None:
        if self.command is None and self.url is None:
            raise mistake("neither command nor url is given", "add one of the two", kind=INCOMPLETE)
        if self.command is not None and self.url is not None:
            raise mistake("both command and url are given", "remove one of the two")
        if self.url is not None and self.confine is not None:
            raise mistake("confine belongs to a command, not to a url", "remove it")
        if self.url is not None and (self.args or self.env or self.cwd):
            raise mistake("args, env and cwd belong to a command, not to a url", "remove them, or use headers")
        if self.command is not None and self.headers:
            raise mistake("headers belong to a url, not to a command", "remove them, or use env")
        if self.command is not None and "oauth" in self.model_fields_set:
            raise mistake("oauth belongs to a url, not to a command", "remove it, or use env")


class ExecutionSettings(Section):
    """The limits and the confinement of a run."""

    timeout: Seconds = setting(120, "seconds that a run may take", when=AT_ONCE, layers=SMALLER)
    patience: SecondsOrOff = setting(
        50,
        "seconds after which a client is answered while its run goes on ([Long runs](results.md#long-runs)); "
        "`off` lets it wait",
        when=AT_ONCE,
    )
    memory: Bytes = setting(1024**3, "memory that a run may use", when=NEXT_START, layers=SMALLER)
    sandbox: Annotated[Literal["strict", "standard", "off"], Before(read_word)] = setting(
        "standard", "how strictly a run is confined", when=NEXT_START, layers=STRICTER
    )
    warm: Annotated[Count, Bounds(ge=0, le=64)] = setting(4, "kernels kept ready", when=AT_ONCE, layers=SMALLER)
    readable: tuple[FilePath, ...] = setting((), "more folders that a run may read", when=NEXT_START, layers=BELOW)
    writable: tuple[FilePath, ...] = setting((), "more folders that a run may write to", when=NEXT_START, layers=BELOW)


class WorkerSettings(Section):
    """The processes of extensions."""

    idle_timeout: Seconds = setting(600, "seconds until an unused extension is stopped", layers=SMALLER)
    call_timeout: Seconds = setting(60, "seconds that a call to an extension may take", layers=SMALLER)
    start_timeout: Seconds = setting(300, "seconds for installing and starting an extension", layers=SMALLER)
    launch: Annotated[Literal["direct", "uv-run"], Before(read_word)] = setting("direct", "how an extension is started")
    engine: Annotated[Literal["local", "ray"], Before(read_word)] = setting(
        "local",
        'where extensions run that ask for `engine = "ray"`: on this machine, or on a Ray cluster',
    )
    ray_address: Name = setting("auto", "the address of that cluster, as `ray.init` takes it")
    ray_actors: Annotated[Count, Bounds(ge=1, le=1000)] = setting(
        4, "workers that one extension may have on that cluster at the same time", layers=SMALLER
    )


class ResultSettings(Section):
    """Answers that are too long to show."""

    inline_limit: Annotated[Count, Bounds(ge=1, le=10_000_000)] = setting(
        20_000, "characters in an answer; longer results are stored ([Results and long runs](results.md))"
    )
    keep_for: Seconds = setting(3600, "seconds that a stored result is kept")
    max_size: Bytes = setting(500 * 1024**2, "size of all stored results together; the oldest are deleted first")


class StatsSettings(Section):
    """Counts of calls and of what they cost."""

    enabled: bool = setting(True, "whether runs and calls are counted ([Statistics](ot.md#statistics))")
    keep_days: Days = setting(365, "days to keep the counts; at most a million calls are kept")


class AuditSettings(Section):
    """The audit log of calls with side effects."""

    enabled: bool = setting(
        True, "whether calls with side effects, and refused calls, are logged ([Audit](policy.md#audit))"
    )
    keep_days: Days = setting(365, "days after which a file of the log that is no longer written to is deleted")
    max_size: Bytes = setting(100 * 1024**2, "total size of the log; the oldest files are deleted first")


class JournalSettings(Section):
    """The journal of runs, which lets a later run continue one that failed."""

    enabled: bool = setting(
        True, "whether runs and their calls are kept for `ot.resume` ([Resuming a run](results.md#resuming-a-run))"
    )
    keep_for: Seconds = setting(86400, "seconds that a run is kept")
    max_size: Bytes = setting(200 * 1024**2, "size of the journal; the oldest runs are deleted first")


@with_key("from", tuple[Pattern, ...], "patterns of `pack.tool` whose results are guarded")
class FlowSettings(Section):
    """A guarded flow: what the tools of `from` return may not go to those of `to` unasked."""

    to: tuple[Pattern, ...] = setting(
        REQUIRED, "patterns of `pack.tool` that guarded results may not flow to without asking"
    )
    action: Annotated[Literal["ask", "deny"], Before(read_word)] = setting(
        "ask", "whether a person is asked before such a call, or it is denied"
    )

    @property
    def origins(self) -> tuple[str, ...]:
        """The value of `from`, which is a keyword in Python."""
        origins: tuple[str, ...] = self.__dict__["from"]
        return origins


class PolicySettings(Section):
    """Tools that are denied or need permission, and guarded flows between tools."""

    deny: tuple[Pattern, ...] = setting((), "patterns of `pack.tool` that are never called")
    ask: tuple[Pattern, ...] = setting((), "patterns of `pack.tool` for which a person is asked before each call")
    allow: tuple[Pattern, ...] = setting(
        (), "patterns of `pack.tool` that are called without asking, even if the tool itself would ask", layers=PERSON
    )
    flows: tuple[FlowSettings, ...] = setting(
        (),
        "limits on where a client may send what it has read",
        example=({"from": ["mail.*"], "to": ["web.*"], "action": "ask"},),
    )


class GrantedPolicy(PolicySettings):
    """The policy for one of many people: that of all, with the grants of their groups; made, and never read."""

    only_granted: tuple[str, ...] = ()  # packs and tools of which only what is granted may be called
    granted: tuple[str, ...] = ()


class SecuritySettings(Section):
    """Trust in what other servers say about themselves."""

    pin_tools: bool | None = setting(
        None,
        "whether changes to a server's tools and texts are refused until you accept them: `true` for all "
        "servers, `false` for none; if not set, for servers that come from elsewhere "
        "([Tools that change](servers.md#tools-that-change))",
        layers=STAYS_ON,
    )


class TopicSettings(Section):
    """The file that receives what is published under a topic; `pattern` is a shell pattern."""

    pattern: Pattern = setting(REQUIRED, "the topics that go to `file`")
    file: FilePath = setting(REQUIRED, "the file that their messages are appended to")


class PromptSettings(Section):
    """Your own advice to the model."""

    packs: dict[str, str] = setting(
        {}, "advice to the model for each pack, shown with it", example={"github": "Search before you create an issue."}
    )


class PackSettings(Section):
    """One pack: its time limit, its tools that only read, and any keys that the pack itself reads."""

    takes_any_key = True

    enabled: bool | None = setting(
        None, "whether the pack is available; by default all are, except `demo` and `shell`", layers=STAYS_OFF
    )
    timeout: Seconds | None = setting(None, "seconds that a call to the pack may take", layers=SMALLER)
    reads: tuple[Pattern, ...] = setting(
        (), "patterns of its tools that change nothing: a lost call may be repeated, and none is in the audit log"
    )

    @property
    def options(self) -> dict[str, object]:
        """The pack's own keys, as a new dict."""
        return dict(self.model_extra)


class WithheldPack(PackSettings):
    """A pack that is off for one of many people, because no group of theirs is granted it; made, and never read."""


class LogSettings(Section):
    """The log: how much is written, and where."""

    level: Annotated[Literal["trace", "debug", "info", "warning", "error"], Before(read_word)] = setting(
        "info", "the lowest level that is logged"
    )
    file: FilePath | None = setting(None, "the file to log to; if not set, the log goes to stderr")
    format: Annotated[Literal["text", "json"], Before(read_word)] = setting(
        "text", "the form of an entry: a line for people, or a JSON object with the ids of its trace"
    )


class HttpSettings(Section):
    """The limits of `onetool serve --http` and `--unix`."""

    connections: Annotated[Count, Bounds(ge=8, le=100_000)] = setting(
        256,
        "open connections of clients; an idle one is closed to make room for a new one",
    )
    unauthenticated: Annotated[Count, Bounds(ge=8, le=10_000)] = setting(
        64, "further open connections that have not shown the token; the oldest is closed to make room"
    )
    request_timeout: Seconds = setting(
        30, "seconds within which a request must have arrived; its answer may take longer"
    )
    drain: Seconds | None = setting(
        None,
        "seconds that runs may take to end after SIGTERM, when no new ones begin; if not set, 20 with `auth`, else 0",
    )


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
        ("onetool.run",),
        "the tools offered to the model: `run`, which runs code, or patterns of `pack.tool`",
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
        """Return the settings of one provider."""
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


class Config(Section):
    """Everything a person can set; each part of the engine receives its section."""

    projects: dict[Name, ProjectSettings] = setting(
        {},
        "names for folders, reached from code as `proj.<name>`",
        when=AT_ONCE,
        layers=PROJECT,
        example={"notes": {"path": "~/notes"}},
    )
    roots: tuple[FilePath, ...] = setting(
        (),
        "more folders whose files tools may read and write, besides the project and your own `projects` "
        "([Allowed folders](packs/file.md#allowed-folders))",
        when=AT_ONCE,
        example=["~/documents"],
    )
    aliases: dict[Identifier, Annotated[str, After(check_target)]] = setting(
        {},
        "short names for tools, or for other aliases",
        when=AT_ONCE,
        layers=PROJECT,
        example={"find": "ot.help"},
    )
    snippets: dict[Identifier, SnippetSettings] = setting(
        {},
        "named code templates",
        when=AT_ONCE,
        layers=PROJECT,
        example={
            "note": {
                "description": "Keep a note",
                "params": {"text": {"description": "what to write"}, "topic": {"default": "notes"}},
                "body": "ot.notify(topic={{ topic }}, message={{ text }})",
            }
        },
    )
    servers: dict[Annotated[str, After(check_server_name)], ServerSettings] = setting(
        {},
        "other MCP servers, each offered as a pack of that name; `onetool import` imports those of other clients",
        when=AT_ONCE,
        layers=PROJECT,
        example={
            "github": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"]},
            "docs": {"url": "https://example.com/mcp", "headers": {"X-Team": "docs"}, "oauth": {}},
        },
    )
    execution: ExecutionSettings = subsection(ExecutionSettings)
    workers: WorkerSettings = subsection(WorkerSettings, when=AT_ONCE)
    results: ResultSettings = subsection(ResultSettings, when=AT_ONCE)
    stats: StatsSettings = subsection(StatsSettings, when=NEXT_START)
    audit: AuditSettings = subsection(AuditSettings, when=NEXT_START)
    journal: JournalSettings = subsection(JournalSettings, when=NEXT_START)
    policy: PolicySettings = subsection(PolicySettings, when=AT_ONCE, layers=UNION)
    security: SecuritySettings = subsection(SecuritySettings, when=NEXT_START)
    topics: tuple[TopicSettings, ...] = setting(
        (),
        "where `ot.notify` writes",
        when=AT_ONCE,
        example=[{"pattern": "notes*", "file": "notes.yaml"}],
    )
    prompts: PromptSettings = subsection(PromptSettings, when=AT_ONCE, layers=PROJECT)
    packs: dict[Name, PackSettings] = setting(
        {}, "settings of individual packs", when=AT_ONCE, example={"github": {"timeout": 20}}
    )
    log: LogSettings = subsection(LogSettings, when=NEXT_START)
    http: HttpSettings = subsection(HttpSettings, when=NEXT_START)
    store: Store = setting(
        EMBEDDED_STORE,
        "where results, runs and whatever else outlives a process are kept: `sqlite`, files of this machine, or "
        "the `postgresql://` address of a database that replicas share ([Serving](serving.md))",
        when=NEXT_START,
        hidden=True,
    )
    auth: AuthSettings = subsection(AuthSettings, when=NEXT_START)
    seal: SealSettings = subsection(SealSettings, when=NEXT_START)
    grants: dict[Name, GrantSettings] = setting(
        {},
        "what the members of each group may do, on top of `policy`",
        when=AT_ONCE,
        example={"developers": {"allow": ["git.*", "file.read"], "ask": ["git.push"], "deny": ["file.delete"]}},
    )
    limits: TeamLimits = subsection(TeamLimits, when=NEXT_START)
    telemetry: TelemetrySettings = subsection(TelemetrySettings, when=NEXT_START)
    ai: AiSettings = subsection(AiSettings, when=NEXT_START)
    voice: VoiceSettings = subsection(VoiceSettings, when=NEXT_START)
    docs_url: Url = setting(
        "https://onetool.beycom.online/reference/tools/", "where the tools are documented", when=AT_ONCE
    )
