"""Every error the engine raises: facts as fields, worded only at the edges.

OneToolError
├── ConfigError                   a configuration file is wrong
├── CommandError                  the text given to run() cannot become code
├── PackLoadError                 a pack file cannot be read
├── ResultNotKeptError            a result is not in the store
├── NewExtensionError             an extension cannot be written
├── NewSkillError                 a skill cannot be written
├── PreflightError                names or arguments that are certain to fail
├── CallError                     one call to a tool did not succeed
├── ModelError                    a model did not answer
├── VoiceError                    listening or speaking cannot go on
└── RunError                      the run itself did not reach its end
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp_core.distribution import with_extra
from mcp_core.facts_error import FactsError


class OneToolError(FactsError):
    """The root: everything below is expected and has a sentence for the caller.

    A class declares the fields that are names: `class SomeError(OneToolError, names=("pack",))`. Every other field may
    hold text of a tool, a server or a caller, and leaves the engine without secrets. `caught_as` is the builtin
    exception as which code in a run may catch it.
    """

    names = frozenset[str]()
    caught_as = "RuntimeError"

    def __init_subclass__(cls, *, names: Sequence[str] = (), caught_as: str = "") -> None:
        super().__init_subclass__()
        cls.names = cls.names.union(names)
        cls.caught_as = caught_as or cls.caught_as


class ConfigError(OneToolError, names=("key",), caught_as="ValueError"):
    """One mistake in one configuration file."""

    reason: str
    file: Path | None = None
    key: str | None = None
    fix: str | None = None


class UnsetVariableError(ConfigError, names=("variable",)):
    """A `${NAME}` for which there is no value."""

    variable: str = ""


class KeychainError(ConfigError):
    """A secret in the keychain of the person's system that cannot be read or kept."""


class CommandError(OneToolError, caught_as="SyntaxError"):
    """The text given to run() cannot become code."""


class LegacyPrefixError(CommandError):
    """`!onetool` in front of a command: a form that was never Python."""


class CommandTooLargeError(CommandError):
    """The command has more bytes than a run accepts."""

    size: int
    limit: int


class UnknownSnippetError(CommandError, names=("available",)):
    """`$name` where no snippet has that name."""

    name: str
    available: Sequence[str]


class WrongSnippetError(CommandError):
    """`$name` where the snippet of that name is off, because its settings are wrong."""

    name: str
    mistake: str  # in words


class UntrustedSnippetError(CommandError):
    """`$name` where a project brings a snippet of that name that nobody has trusted."""

    name: str
    project: str


class SnippetError(CommandError):
    """A snippet exists, but these arguments or its template do not work."""

    name: str
    reason: str
    usage: str


class AliasCycleError(CommandError, names=("cycle",)):
    """Aliases that lead back to themselves."""

    cycle: Sequence[str]


class PackLoadError(OneToolError, caught_as="ImportError"):
    """A pack file that cannot be read, parsed or imported."""

    file: Path
    reason: str
    line: int | None = None


class ResultNotKeptError(OneToolError):
    """A result could not be put into the store; the run itself went well."""

    reason: str


class NewExtensionError(OneToolError):
    """A new extension of this name cannot be written."""

    name: str
    reason: str


class NewSkillError(OneToolError):
    """A new skill of this name cannot be written."""

    name: str
    reason: str


class CallError(OneToolError, names=("tool",)):
    """One call to a tool did not succeed; `tool` is its full name, which is added later where it is not known."""

    tool = ""


class ToolCallError(CallError):
    """One call to a tool that is known did not succeed."""

    tool: str


class PreflightError(OneToolError):
    """Everything that is certain to fail, found before the first side effect: (line, error) pairs."""

    problems: Sequence[tuple[int, CallError]]


class UnknownPackError(CallError, names=("pack", "available"), caught_as="AttributeError"):
    """No pack has this name; `absent` says why others are not here that should be."""

    pack: str
    available: Sequence[str]
    absent: Sequence[CallError] = ()

    def __init__(self, pack: str, available: Sequence[str], absent: Sequence[CallError] = ()) -> None:
        super().__init__(pack, available)
        self.tool = pack
        self.absent = absent


class AliasTargetError(CallError, caught_as="AttributeError"):
    """An alias that stands for nothing that can be called; `reason` is what keeps its target from it."""

    alias: str
    target: str
    reason: CallError


class WrongAliasError(CallError, caught_as="NameError"):
    """An alias that is off, because its setting is wrong."""

    alias: str
    mistake: str  # in words


class SwitchedOffError(CallError, names=("kind", "key"), caught_as="ConnectionError"):
    """A pack or a server, as `kind` says, that the configuration keeps off; `key` switches it on."""

    kind: str
    name: str
    key: str


class UnknownToolError(ToolCallError, names=("pack", "available"), caught_as="AttributeError"):
    """The pack exists, the tool does not; `available` are the pack's tools, without the pack."""

    pack: str
    available: Sequence[str]


class NameTooLongError(CallError, caught_as="AttributeError"):
    """A name of `size` characters, which no pack, tool or argument can have; nobody has looked at it."""

    size: int
    limit: int


class UnknownProjectError(CallError, names=("functions", "projects"), caught_as="AttributeError"):
    """`proj.<name>` where neither a function nor a configured project has that name."""

    name: str
    functions: Sequence[str]
    projects: Sequence[str]

    def __init__(self, name: str, *, functions: Sequence[str], projects: Sequence[str]) -> None:
        super().__init__(name, functions, projects)
        self.tool = f"proj.{name}"


class ToolArgumentError(ToolCallError, caught_as="TypeError"):
    """Arguments that do not fit the schema; `problems` are short phrases."""

    problems: Sequence[str]
    signature: str


class ToolDeniedError(ToolCallError, names=("rule",), caught_as="PermissionError"):
    """`policy.deny` names this tool."""

    rule: str


class NotGrantedError(ToolDeniedError):
    """A pack or a tool, as `tool` says, that is there for groups which are granted it, and the person is in none."""


class UnsupportedToolError(ToolCallError, caught_as="NotImplementedError"):
    """A server offers this tool only by means of the protocol that we do not have."""

    lacks: str


class NotOnlyReadingError(ToolCallError, caught_as="PermissionError"):
    """A run that may only read calls a tool that may change something."""


class FlowDeniedError(ToolCallError, names=("read",), caught_as="PermissionError"):
    """`policy.flows` keeps what another tool gave from this one; `argument` is the one that carries it, if known."""

    read: str
    argument: str = ""


class ConsentError(ToolCallError, caught_as="PermissionError"):
    """A person must agree first, and did not or could not be asked."""

    reason: str
    rule: str  # why somebody is asked at all


class ToolTimeoutError(ToolCallError, names=("key",), caught_as="TimeoutError"):
    """The call took longer than its limit; `still_running` is true where a plain tool could not be stopped.

    `key` is what sets the limit, empty where that is the caller.
    """

    limit: float
    still_running: bool = False
    key: str = ""


class ToolStoppedError(ToolCallError):
    """The call was cancelled, or refused because its run had ended."""

    still_running: bool = False


class ServiceUnavailableError(ToolCallError, caught_as="ConnectionError"):
    """The network, or the service behind it, did not answer."""

    reason: str


class ServiceError(CallError):
    """A service did not do what a pack asked of it; `reason` is what it said, or what is wrong with its answer."""

    service: str
    reason: str


class KeyRefusedError(ServiceError, caught_as="PermissionError"):
    """The service does not accept the key in this secret; `page` is where a person gets another."""

    secret: str
    page: str


class PaymentRequiredError(ServiceError, caught_as="PermissionError"):
    """The service requires payment; `page` is where a person can pay."""

    page: str


class RateLimitedError(ServiceError, caught_as="ConnectionError"):
    """More calls than the service takes in the time that is left; `wait` is how long it asks for, in seconds."""

    wait: float
    rate_key: str  # the option that names the rate


class ServiceRefusedError(ServiceError):
    """The service refuses this request, and would refuse it again."""

    status: int


class ServiceAnswerError(ServiceError, caught_as="ConnectionError"):
    """The service answers with something that is not an answer."""

    address_key: str  # the option that says where the service is


class ServerUnavailableError(ToolCallError, names=("server",), caught_as="ConnectionError"):
    """A proxied server cannot be reached, or was lost in the middle of the call.

    `begun` is true where the call may have had an effect; `tail` is the end of what the server wrote to stderr.
    """

    server: str
    reason: str
    begun: bool = False
    remedy: str = ""
    tail: str = ""


class ToolChangedError(ToolCallError, names=("server",), caught_as="PermissionError"):
    """A proxied tool, or a `prompt` or `view`, is not as a person accepted it, and its server is pinned."""

    server: str
    new: bool
    prompt: str = ""
    view: str = ""


class UntrustedPackError(CallError, names=("pack",), caught_as="PermissionError"):
    """A pack that a project brings, a file of tools or a server, that nobody has trusted."""

    pack: str
    project: str


class ChangedFilesError(CallError, caught_as="PermissionError"):
    """Files of a project that have changed since they were trusted: what they define now is missing."""

    project: str
    files: Sequence[str]


class WrongSettingsError(CallError, names=("pack",), caught_as="LookupError"):
    """A pack or server that is off, because its settings are wrong."""

    pack: str
    mistake: str  # in words


class BrokenPackError(CallError, names=("pack",), caught_as="ImportError"):
    """An extension that cannot be used, because its file has a mistake; `place` is where."""

    pack: str
    place: str
    reason: str


class UntrustedSkillError(UntrustedPackError):
    """A skill that a project brings, and that nobody has trusted."""

    skill: str


class BrokenSkillError(ToolCallError, caught_as="ImportError"):
    """The file of a skill is not what a skill looks like."""

    file: str
    reason: str
    line: int | None = None


class SkillPreflightError(ToolCallError):
    """Calls in the file of a skill that are certain to fail, found before any of it was executed."""

    file: str
    problems: Sequence[tuple[int, CallError]]


class RecordedFailureError(ToolCallError, names=("kind",)):
    """A call in a replay that failed when it was made; `kind` is the builtin exception that it was."""

    kind: str
    message: str


class CallNotRecordedError(ToolCallError, caught_as="LookupError"):
    """A call in a replay that the run which is played again has not made, or whose value is no longer kept."""

    reason: str


class CallNotJournalledError(ToolCallError, caught_as="ConnectionError"):
    """A call that may have an effect was not made, because it could not be written down first."""

    reason: str


class WorkerStartError(ToolCallError):
    """The worker of an extension could not be started; `tail` is the end of what it wrote to stderr."""

    reason: str
    tail: str = ""


class PackNotReadyError(ToolCallError, names=("pack", "requirements")):
    """The libraries of a built-in pack are not there, and cannot be installed."""

    pack: str
    requirements: Sequence[str]
    reason: str


class WorkerCrashedError(ToolCallError, caught_as="ChildProcessError"):
    """The worker ended in the middle of the call, whose effect is unknown then; `reason` names the call that caused it.

    `status` is that of waitpid, None where it says nothing: the worker was stopped by us, or nobody saw its end.
    """

    reason: str
    status: int | None = None
    begun: bool = True
    tail: str = ""


class WorkerLostError(WorkerCrashedError):
    """The worker is out of reach, with its node or the whole cluster; nobody can tell how far the call came."""


class StatsDisabledError(CallError):
    """The configuration switches statistics off."""


class DatabaseUnavailableError(CallError):
    """A database of our own cannot be used."""

    file: Path
    reason: str


class DatabaseBusyError(DatabaseUnavailableError):
    """Others held the database for longer than one waits."""


class DatabaseDamagedError(DatabaseUnavailableError):
    """The file is damaged, or is no database."""


class InvalidPeriodError(CallError, names=("valid",), caught_as="ValueError"):
    """Statistics were asked for an unknown period."""

    period: str
    valid: Sequence[str]


class ReportWriteError(CallError, caught_as="OSError"):
    """A report cannot, or may not, be written there; `path` is as it was given."""

    path: str
    reason: str


class PathError(CallError, caught_as="OSError"):
    """A file or folder cannot be used; `path` is as it was given, `reason` says why and how it can."""

    path: str
    reason: str


class PathRefusedError(PathError, caught_as="PermissionError"):
    """A path that tools may not use."""


class MissingPathError(PathError, caught_as="FileNotFoundError"):
    """A path that leads to nothing."""


class ChangedFileError(PathError):
    """A file that somebody else has changed since it was read."""


class NotListedError(CallError, names=("kind",), caught_as="LookupError"):
    """A prompt or a resource that no server has listed; `kind` is which of the two."""

    kind: str
    wanted: str


class UnknownResultError(CallError, caught_as="LookupError"):
    """No stored result ever had this handle, or it is long gone."""

    handle: str


class ExpiredResultError(CallError, caught_as="LookupError"):
    """There was a result with this handle, but it is no longer kept."""

    handle: str


class NoDetachedRunError(CallError, caught_as="LookupError"):
    """No detached run of this principal has this id, or its answer is no longer kept; `others` are ids of theirs."""

    run: str
    others: Sequence[str]


class UnknownRunError(CallError, caught_as="LookupError"):
    """The journal has no run of this name, for this principal and project."""

    run: str


class RunNotResumableError(CallError):
    """A run that another cannot go on from."""

    run: str
    reason: str


class RunUnreachableError(CallError):
    """A run whose replica cannot be reached at the moment; after some seconds it counts as lost."""

    run: str
    seconds: float


class RunNotUndoableError(CallError):
    """A run of which nothing can be taken back."""

    run: str
    reason: str


class LateResumeError(ToolCallError):
    """A run goes on from another only as the first thing it does: what it did before would be done again."""


class RunEndingError(CallError):
    """A call that is not only refused: its run ends there, whatever the code would catch."""


class LatePreviewError(RunEndingError):
    """A run that lists what it would do has to say so first: what it did before is done."""

    tool: str


class NoPreviewError(RunEndingError):
    """A run that lists what it would do is refused."""

    reason: str


class PreviewNotAppliedError(CallError):
    """The list of a preview is not carried out."""

    preview: str
    reason: str


class ApplyNotAloneError(ToolCallError):
    """A preview is applied by a command that says nothing else."""


class RunTakenOverError(RunEndingError, names=("tool",)):
    """A run makes no further call that may have an effect, since another run, its `heir`, goes on from it."""

    tool: str
    run: str
    heir: str


class NotPlannedError(RunEndingError, names=("tool",)):
    """A call that may have an effect differs from what the preview listed; `listed` is what comes nearest there."""

    tool: str
    preview: str
    call: str
    listed: str


class FileChangedSinceError(RunEndingError, names=("tool",)):
    """A file is not as the preview showed it."""

    tool: str
    preview: str
    path: str


class NotMadeError(ToolCallError, caught_as="PermissionError"):
    """A call that a preview does not make, and that cannot be listed alone: it is part of another one."""


class CallNotRepeatedError(ToolCallError):
    """A call that an earlier run had begun, and that may have had an effect; `call` words it, `reason` says why."""

    run: str
    call: str
    reason: str


class ArgumentValueError(CallError, caught_as="ValueError"):
    """An argument has the right type and a value that makes no sense; code catches it as a ValueError."""

    message: str


class CallLimitError(ToolCallError, names=("key",), caught_as="TimeoutError"):
    """A person has made as many calls as they may; `problem` is why they could not even be counted."""

    key: str
    limit: int
    free_in: float
    problem: str = ""


class ToolFailedError(ToolCallError, names=("kind", "incident")):
    """The tool raised; `kind` is the builtin exception it was, `incident` finds the traceback in the log.

    Where its helper process ended, `status` is that of waitpid and `tail` the end of what it wrote to stderr. `place`
    is the line of an extension's own file.
    """

    kind: str
    message: str
    incident: str
    status: int | None = None
    tail: str = ""
    place: str = ""


class ToolError(CallError):
    """A pack's own error, for its caller to read: `raise ToolError("no such file: a.txt")`."""

    message: str


class MissingSecretError(ToolError, caught_as="PermissionError"):
    """A secret that a pack needs is not set; `page` is where a person gets one, if that is known."""

    secret: str
    page: str

    def __init__(self, secret: str, page: str = "") -> None:
        way = f': write `{secret}: "..."` into ~/.onetool/secrets.yaml. Keys are given out at {page}' if page else ""
        super().__init__(f"the secret {secret} is not set{way or '; put it in secrets.yaml'}")
        self.secret = secret
        self.page = page


class ModelError(OneToolError, names=("provider",)):
    """A model did not answer; `provider` is whose it is."""

    provider: str


class MissingExtraError(ModelError, names=("extra",)):
    """The library that speaks to this provider is not installed; `extra` brings it."""

    extra: str


class ModelRefusedError(ModelError):
    """The provider refused the request, and would refuse it again: key, model or request are wrong."""

    reason: str
    status: int | None = None


class ModelUnavailableError(ModelError):
    """The provider is overloaded, could not be reached, or broke off; `retry_after` is what it asks for, in seconds."""

    reason: str
    retry_after: float | None = None
    status: int | None = None
    attempts = 1


class VoiceError(OneToolError, names=("part",)):
    """Listening or speaking cannot go on; `part` is what failed: a file, a device, a recogniser."""

    part: str
    reason: str


class MissingVoiceError(VoiceError, names=("package",)):
    """A library that voice needs is not installed, or lacks something of the system; `package` brings it."""

    package: str = with_extra("voice")


class RunError(OneToolError):
    """The run itself did not reach its end."""


class SandboxError(RunError, names=("layers",)):
    """A confinement layer that this configuration demands is not in force."""

    layers: Sequence[str]


class KernelStartError(RunError):
    """No kernel could be started; `reason` is what the zygote said last."""

    reason: str


class RunTimeoutError(RunError):
    """The run's own clock ran out; `line` is where the code was, if that could be told."""

    limit: float
    line: int | None = None


class RunLimitError(RunError, names=("what",)):
    """Memory, scratch space or threads really used went past their limit."""

    what: str
    limit: int
    line: int | None = None


class RunCrashedError(RunError):
    """The kernel's process ended without a result; `status` is that of waitpid, None if unknown."""

    status: int | None
    line: int | None = None


class RunRefusedError(RunError):
    """The kernel broke the protocol between it and the server, or was cancelled."""

    reason: str


class LimitReachedError(RunError, names=("key",)):
    """A person has used up what they may use; `free_in` seconds there is more, or with 0 when a run of theirs ends."""

    key: str
    limit: int
    free_in: float


class CannotLookError(RunError):
    """Runs that may only read are refused, because the code of runs itself may write; `key` is what lets it."""

    key: str


class StoreGoneError(RunError):
    """The store of this server cannot be reached, so that no run begins."""

    reason: str
