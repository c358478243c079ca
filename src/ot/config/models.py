"""The configuration as frozen models: every key, its type, its bounds, its default and its description.

A key without a value (`servers:` with nothing after it) means its default, so a section whose lines are all commented
out is no mistake. Paths are made absolute by the loader, which knows the file that names them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ot.config import team
from ot.config.assistant import AiSettings, VoiceSettings
from ot.config.call_rules import CallRule
from ot.config.reading import After, Before, Bounds
from ot.config.section import (
    AT_ONCE,
    NEXT_START,
    PERSON,
    PROJECT,
    Bytes,
    Count,
    Days,
    FilePath,
    Identifier,
    Name,
    Pattern,
    Seconds,
    SecondsOrOff,
    Section,
    Url,
    setting,
    subsection,
    with_key,
)
from ot.config.server_settings import RegistrySettings, ServerSettings
from ot.config.values import REQUIRED, check_server_name, check_target, check_undo, read_word

DOCS_URL = "https://onetool.beycom.online/reference/tools/"
OFF_UNLESS_ASKED = frozenset({"demo", "shell"})  # built-in packs that are there only for those who switch them on


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


class ExecutionSettings(Section):
    """The limits and the confinement of a run."""

    timeout: Seconds = setting(120, "seconds that a run may take", when=AT_ONCE, layers="smaller")
    patience: SecondsOrOff = setting(
        50,
        "seconds after which a client is answered while its run goes on ([Long runs](results.md#long-runs)); "
        "`off` lets it wait",
        when=AT_ONCE,
    )
    memory: Bytes = setting(1024**3, "memory that a run may use", when=NEXT_START, layers="smaller")
    sandbox: Annotated[Literal["strict", "standard", "off"], Before(read_word)] = setting(
        "standard", "how strictly a run is confined", when=NEXT_START, layers="stricter"
    )
    engine: Annotated[Literal["auto", "process", "wasm"], Before(read_word)] = setting(
        "auto",
        "how code is held: `process` is a process of the system's own Python, `wasm` a WebAssembly component "
        "([Platforms](platforms.md)); `auto` is `process` where that can be confined, and `wasm` elsewhere",
        when=NEXT_START,
    )
    without: tuple[Literal["landlock", "seccomp"], ...] = setting(
        (), "layers of the confinement that this system may lack when code runs as a `process`", when=NEXT_START
    )
    warm: Annotated[Count, Bounds(ge=0, le=64)] = setting(4, "kernels kept ready", when=AT_ONCE, layers="smaller")
    readable: tuple[FilePath, ...] = setting((), "more folders that a run may read", when=NEXT_START, layers="below")
    writable: tuple[FilePath, ...] = setting(
        (), "more folders that a run may write to", when=NEXT_START, layers="below"
    )


class WorkerSettings(Section):
    """The processes of extensions."""

    idle_timeout: Seconds = setting(600, "seconds until an unused extension is stopped", layers="smaller")
    call_timeout: Seconds = setting(60, "seconds that a call to an extension may take", layers="smaller")
    start_timeout: Seconds = setting(300, "seconds for installing and starting an extension", layers="smaller")
    launch: Annotated[Literal["direct", "uv-run"], Before(read_word)] = setting("direct", "how an extension is started")
    engine: Annotated[Literal["local", "ray"], Before(read_word)] = setting(
        "local", 'where extensions run that ask for `engine = "ray"`: on this machine, or on a Ray cluster'
    )
    ray_address: Name = setting("auto", "the address of that cluster, as `ray.init` takes it")
    ray_actors: Annotated[Count, Bounds(ge=1, le=1000)] = setting(
        4, "workers that one extension may have on that cluster at the same time", layers="smaller"
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
    undo_size: Bytes = setting(
        200 * 1024**2,
        "size of what runs have changed, kept as it was before for `ot.undo` ([Undoing a run](undo.md)); one run may "
        "have half of it, and the oldest are deleted first",
    )


@with_key(
    "from",
    tuple[Pattern, ...],
    "patterns of `pack.tool` whose results are guarded; `strangers` are the tools that bring other people's words",
)
class FlowSettings(Section):
    """A guarded flow: what the tools of `from` return may not go to those of `to` unasked."""

    to: tuple[CallRule, ...] = setting(
        REQUIRED, "patterns of `pack.tool` that guarded results may not flow to without asking, or rules on arguments"
    )
    action: Annotated[Literal["ask", "deny"], Before(read_word)] = setting(
        "ask", "whether a person is asked before such a call, or it is denied"
    )
    by: Annotated[Literal["call", "value"], Before(read_word)] = setting(
        "call",
        "`call`: every such call counts; `value`: only one with an argument that carries something that those tools "
        "brought ([Flows by value](policy.md#flows-by-value))",
    )

    @property
    def origins(self) -> tuple[str, ...]:
        """The value of `from`, which is a keyword in Python."""
        origins: tuple[str, ...] = self.__dict__["from"]
        return origins

    @property
    def label(self) -> str:
        """The rule in a few words, which no other rule has."""
        return f"{', '.join(self.origins)} > {', '.join(map(str, self.to))}"


STRANGERS = "strangers"
BY_VALUE = "value"
_BRINGING = ("brave.*", "context7.*", "firecrawl.*", "ground.*", "llm.*", "web.*")  # built-in packs


class PolicySettings(Section):
    """Tools that are denied or need permission, and guarded flows between tools."""

    deny: tuple[CallRule, ...] = setting(
        (), "patterns of `pack.tool` that are never called, or [rules on arguments](policy.md#rules-on-arguments)"
    )
    ask: tuple[CallRule, ...] = setting(
        (), "patterns of `pack.tool` for which a person is asked before each call, or rules on arguments"
    )
    allow: tuple[Pattern, ...] = setting(
        (), "patterns of `pack.tool` that are called without asking, even if the tool itself would ask", layers=PERSON
    )
    known: tuple[Pattern, ...] = setting(
        (),
        "patterns of your own values, such as `*@example.com`, which flows `by: value` let pass; "
        "each fits a [whole value](policy.md#flows-by-value)",
        layers=PERSON,
    )
    flows: tuple[FlowSettings, ...] = setting(
        (),
        "limits on where a client may send what it has read",
        example=({"from": ["mail.*"], "to": ["web.*"], "action": "ask"},),
    )
    ask_timeout: SecondsOrOff = setting(
        600,
        "seconds that a question waits for you where its client has no forms "
        "([Asking elsewhere](policy.md#asking-elsewhere)), and then is a no; `off`: it is a no at once",
        layers=PERSON,
    )
    ask_command: tuple[str, ...] = setting(
        (),
        "a program and its arguments that is given such a question on stdin, for example to show a notification",
        layers=PERSON,
        example=("sh", "-c", 'notify-send OneTool "$(cat)"'),
    )
    preview: bool = setting(
        True,
        "whether a person is asked once for all that a run would do, as far as that can be foreseen "
        "([Questions](policy.md#questions))",
        layers=PERSON,
    )


class GrantedPolicy(PolicySettings):
    """The policy for one of many people: that of all, with the grants of their groups; made, and never read."""

    only_granted: tuple[str, ...] = ()  # packs and tools of which only what is granted may be called
    granted: tuple[str, ...] = ()


class OfferSettings(Section):
    """The tools that clients are offered."""

    look: bool = setting(
        False, "whether `look`, which only reads, is offered beside `run` ([Looking](policy.md#looking))", layers=PERSON
    )


class SecuritySettings(Section):
    """Trust in what other servers say about themselves."""

    pin_tools: bool | None = setting(
        None,
        "whether changes to a server's tools and texts are refused until you accept them: `true` for all "
        "servers, `false` for none; if not set, for servers that come from elsewhere "
        "([Tools that change](servers.md#tools-that-change))",
        layers="stays on",
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
        None, "whether the pack is available; by default all are, except `demo` and `shell`", layers="stays off"
    )
    timeout: Seconds | None = setting(None, "seconds that a call to the pack may take", layers="smaller")
    reads: tuple[Pattern, ...] = setting(
        (), "patterns of its tools that change nothing: a lost call may be repeated, and none is in the audit log"
    )
    undo: dict[Name, Annotated[dict[str, str], After(check_undo)]] = setting(
        {},
        "tools that undo calls of its tools, with their arguments out of `result` and `arguments` "
        "([Undoing a run](undo.md#calls-that-another-tool-undoes))",
        example={"create_event": {"tool": "delete_event", "id": "result.id"}},
    )
    confine: bool = setting(
        True,
        "whether the processes of a built-in pack are confined to what a call needs; `off` is for a system that cannot "
        "confine them ([Platforms](platforms.md#programs-on-macos))",
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
        256, "open connections of clients; an idle one is closed to make room for a new one"
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
        {}, "short names for tools, or for other aliases", when=AT_ONCE, layers=PROJECT, example={"find": "ot.help"}
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
    registry: RegistrySettings = subsection(RegistrySettings, when=AT_ONCE)
    execution: ExecutionSettings = subsection(ExecutionSettings)
    workers: WorkerSettings = subsection(WorkerSettings, when=AT_ONCE)
    results: ResultSettings = subsection(ResultSettings, when=AT_ONCE)
    stats: StatsSettings = subsection(StatsSettings, when=NEXT_START)
    audit: AuditSettings = subsection(AuditSettings, when=NEXT_START)
    journal: JournalSettings = subsection(JournalSettings, when=NEXT_START)
    offer: OfferSettings = subsection(OfferSettings, when=NEXT_START)
    policy: PolicySettings = subsection(PolicySettings, when=AT_ONCE, layers="union")
    security: SecuritySettings = subsection(SecuritySettings, when=NEXT_START)
    topics: tuple[TopicSettings, ...] = setting(
        (), "where `ot.notify` writes", when=AT_ONCE, example=[{"pattern": "notes*", "file": "notes.yaml"}]
    )
    prompts: PromptSettings = subsection(PromptSettings, when=AT_ONCE, layers=PROJECT)
    packs: dict[Name, PackSettings] = setting(
        {}, "settings of individual packs", when=AT_ONCE, example={"github": {"timeout": 20}}
    )
    log: LogSettings = subsection(LogSettings, when=NEXT_START)
    http: HttpSettings = subsection(HttpSettings, when=NEXT_START)
    store: team.Store = setting(
        team.EMBEDDED_STORE,
        "where results, runs and whatever else outlives a process are kept: `sqlite`, files of this machine, or "
        "the `postgresql://` address of a database that replicas share ([Serving](serving.md))",
        when=NEXT_START,
        hidden=True,
    )
    auth: team.AuthSettings = subsection(team.AuthSettings, when=NEXT_START)
    seal: team.SealSettings = subsection(team.SealSettings, when=NEXT_START)
    grants: dict[Name, team.GrantSettings] = setting(
        {},
        "what the members of each group may do, on top of `policy`",
        when=AT_ONCE,
        example={"developers": {"allow": ["git.*", "file.read"], "ask": ["git.push"], "deny": ["file.delete"]}},
    )
    limits: team.TeamLimits = subsection(team.TeamLimits, when=NEXT_START)
    telemetry: team.TelemetrySettings = subsection(team.TelemetrySettings, when=NEXT_START)
    ai: AiSettings = subsection(AiSettings, when=NEXT_START)
    voice: VoiceSettings = subsection(VoiceSettings, when=NEXT_START)
    docs_url: Url = setting(DOCS_URL, "where the tools are documented", when=AT_ONCE)


def strangers_of(config: Config) -> tuple[str, ...]:
    """Return the patterns of tools that may bring words that other people wrote."""
    return (*_BRINGING, *(f"{name}.*" for name, server in config.servers.items() if not server.own))


def with_strangers(config: Config) -> Config:
    """Return the configuration with the patterns of tools that `strangers` stands for in rules on flows."""
    if not any(STRANGERS in flow.origins for flow in config.policy.flows):
        return config
    strangers, flows = strangers_of(config), []
    for flow in config.policy.flows:
        origins = [each for each in flow.origins if each != STRANGERS]
        named = {"from": (*origins, *strangers)} if len(origins) < len(flow.origins) else {}
        flows.append(flow.model_copy(update=named))
    return config.model_copy(update={"policy": config.policy.model_copy(update={"flows": tuple(flows)})})
