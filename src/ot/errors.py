"""Every error the engine raises: facts as fields, worded only at the edges.

OneToolError
├── ConfigError                   a configuration file is wrong
├── CommandError                  the text given to run() cannot become code
│   ├── LegacyPrefixError
│   ├── CommandTooLargeError
│   ├── UnknownSnippetError
│   ├── SnippetError
│   └── AliasCycleError
├── PackLoadError                 a pack file cannot be read
├── ResultNotKeptError            a result is not in the store
├── NewExtensionError             an extension cannot be written
├── PreflightError                names or arguments that are certain to fail
├── CallError                     one call to a tool did not succeed
│   ├── UnknownPackError
│   ├── SwitchedOffError
│   ├── UnknownToolError
│   ├── UnknownProjectError
│   ├── ToolArgumentError
│   ├── ToolDeniedError
│   ├── ConsentError
│   ├── ToolTimeoutError
│   ├── ToolStoppedError
│   ├── ServiceUnavailableError
│   ├── ServerUnavailableError
│   ├── ToolChangedError
│   ├── WorkerStartError
│   ├── WorkerCrashedError
│   ├── StatsDisabledError
│   ├── StatsUnavailableError
│   ├── InvalidPeriodError
│   ├── ReportWriteError
│   ├── UnknownResultError
│   ├── ExpiredResultError
│   ├── ArgumentValueError
│   ├── ToolFailedError
│   └── ToolError                 raised by packs, for the caller to read
├── ModelError                    a model did not answer
│   ├── MissingExtraError
│   ├── ModelRefusedError
│   └── ModelUnavailableError
├── VoiceError                    listening or speaking cannot go on
│   └── MissingVoiceError
└── RunError                      the run itself did not reach its end
    ├── SandboxError
    ├── KernelStartError
    ├── RunTimeoutError
    ├── RunLimitError
    ├── RunCrashedError
    └── RunRefusedError
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from mcp_core.distribution import with_extra


class OneToolError(Exception):
    """The root: everything below is expected and has a sentence for the caller.

    A class declares the fields that are names: `class SomeError(OneToolError, names=("pack",))`. Every other field may
    hold text of a tool, a server or a caller, and leaves the engine without secrets.
    """

    names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, *, names: Sequence[str] = ()) -> None:
        super().__init_subclass__()
        cls.names = cls.names.union(names)


class ConfigError(OneToolError, names=("key",)):
    """One mistake in one configuration file."""

    def __init__(
        self, reason: str, *, file: Path | None = None, key: str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.key = key
        self.fix = fix


class CommandError(OneToolError):
    """The text given to run() cannot become code."""


class LegacyPrefixError(CommandError):
    """`!onetool` in front of a command: a form that was never Python."""


class CommandTooLargeError(CommandError):
    """The command has more bytes than a run accepts."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit


class UnknownSnippetError(CommandError, names=("available",)):
    """`$name` where no snippet has that name."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.available = tuple(available)


class SnippetError(CommandError):
    """A snippet exists, but these arguments or its template do not work."""

    def __init__(self, name: str, reason: str, usage: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason
        self.usage = usage


class AliasCycleError(CommandError, names=("cycle",)):
    """Aliases that lead back to themselves."""

    def __init__(self, cycle: Sequence[str]) -> None:
        super().__init__(*cycle)
        self.cycle = tuple(cycle)


class PackLoadError(OneToolError):
    """A pack file that cannot be read, parsed or imported."""

    def __init__(self, file: Path, reason: str, line: int | None = None) -> None:
        super().__init__(str(file), reason)
        self.file = file
        self.reason = reason
        self.line = line


class ResultNotKeptError(OneToolError):
    """A result could not be put into the store; the run itself went well."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NewExtensionError(OneToolError):
    """A new extension of this name cannot be written."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


class CallError(OneToolError, names=("tool",)):
    """One call to a tool did not succeed; `tool` is its full name."""

    def __init__(self, tool: str, *details: object) -> None:
        super().__init__(tool, *details)
        self.tool = tool


class PreflightError(OneToolError):
    """Everything that is certain to fail, found before the first side effect: (line, error) pairs."""

    def __init__(self, problems: Sequence[tuple[int, CallError]]) -> None:
        super().__init__(*problems)
        self.problems = tuple(problems)


class UnknownPackError(CallError, names=("pack", "available")):
    """No pack has this name."""

    def __init__(self, pack: str, available: Sequence[str]) -> None:
        super().__init__(pack)
        self.pack = pack
        self.available = tuple(available)


class SwitchedOffError(CallError, names=("kind", "name", "key")):
    """A pack or a server, as `kind` says, that the configuration keeps off; `key` switches it on."""

    def __init__(self, kind: str, name: str, *, key: str) -> None:
        super().__init__("", name, key)
        self.kind = kind
        self.name = name
        self.key = key


class UnknownToolError(CallError, names=("pack", "available")):
    """The pack exists, the tool does not; `available` are the pack's tools, without the pack."""

    def __init__(self, tool: str, *, pack: str, available: Sequence[str]) -> None:
        super().__init__(tool)
        self.pack = pack
        self.available = tuple(available)


class UnknownProjectError(CallError, names=("functions", "projects")):
    """`proj.<name>` where neither a function nor a configured project has that name."""

    def __init__(self, name: str, *, functions: Sequence[str], projects: Sequence[str]) -> None:
        super().__init__(f"proj.{name}")
        self.name = name
        self.functions = tuple(functions)
        self.projects = tuple(projects)


class ToolArgumentError(CallError):
    """Arguments that do not fit the schema; `problems` are short phrases."""

    def __init__(self, tool: str, problems: Sequence[str], signature: str) -> None:
        super().__init__(tool, *problems)
        self.problems = tuple(problems)
        self.signature = signature


class ToolDeniedError(CallError, names=("rule",)):
    """`policy.deny` names this tool."""

    def __init__(self, tool: str, rule: str) -> None:
        super().__init__(tool, rule)
        self.rule = rule


class ConsentError(CallError):
    """A person must agree first, and did not or could not be asked."""

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(tool, reason)
        self.reason = reason


class ToolTimeoutError(CallError):
    """The call took longer than its limit; `still_running` is true where a plain tool could not be stopped."""

    def __init__(self, tool: str, limit: float, *, still_running: bool = False) -> None:
        super().__init__(tool, limit)
        self.limit = limit
        self.still_running = still_running


class ToolStoppedError(CallError):
    """The call was cancelled, or refused because its run had ended."""

    def __init__(self, tool: str, *, still_running: bool = False) -> None:
        super().__init__(tool)
        self.still_running = still_running


class ServiceUnavailableError(CallError):
    """The network, or what stands behind it, did not answer."""

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(tool, reason)
        self.reason = reason


class ServerUnavailableError(CallError, names=("server",)):
    """A proxied server cannot be reached, or was lost in the middle of the call.

    `begun` is true where the call may have had an effect; `tail` is the end of what the server wrote to stderr.
    """

    def __init__(
        self, tool: str, *, server: str, reason: str, begun: bool = False, remedy: str = "", tail: str = ""
    ) -> None:
        super().__init__(tool, server, reason)
        self.server = server
        self.reason = reason
        self.begun = begun
        self.remedy = remedy
        self.tail = tail


class ToolChangedError(CallError, names=("server",)):
    """A proxied tool's definition is not the one that a person accepted, and `security.pin_tools` is set."""

    def __init__(self, tool: str, *, server: str, new: bool) -> None:
        super().__init__(tool, server)
        self.server = server
        self.new = new


class WorkerStartError(CallError):
    """The worker of an extension could not be started; `tail` is the end of what it wrote to stderr."""

    def __init__(self, tool: str, reason: str, tail: str = "") -> None:
        super().__init__(tool, reason)
        self.reason = reason
        self.tail = tail


class WorkerCrashedError(CallError):
    """The worker ended in the middle of the call, whose effect is unknown then; `reason` names the call that caused it.

    `status` is that of waitpid, None where it says nothing: the worker was stopped by us, or nobody saw its end.
    """

    def __init__(
        self, tool: str, reason: str, *, status: int | None = None, begun: bool = True, tail: str = ""
    ) -> None:
        super().__init__(tool, reason)
        self.reason = reason
        self.status = status
        self.begun = begun
        self.tail = tail


class StatsDisabledError(CallError):
    """The configuration says that nothing is counted."""

    def __init__(self) -> None:
        super().__init__("")


class StatsUnavailableError(CallError):
    """The database of statistics cannot be used."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__("", str(file), reason)
        self.file = file
        self.reason = reason


class InvalidPeriodError(CallError, names=("valid",)):
    """Statistics of a period that there is not."""

    def __init__(self, period: str, valid: Sequence[str]) -> None:
        super().__init__("", period)
        self.period = period
        self.valid = tuple(valid)


class ReportWriteError(CallError):
    """A report cannot, or may not, be written there; `path` is as it was given."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__("", path, reason)
        self.path = path
        self.reason = reason


class UnknownResultError(CallError):
    """No stored result ever had this handle, or it is long gone."""

    def __init__(self, handle: str) -> None:
        super().__init__("", handle)
        self.handle = handle


class ExpiredResultError(CallError):
    """There was a result with this handle, and it is kept no longer."""

    def __init__(self, handle: str) -> None:
        super().__init__("", handle)
        self.handle = handle


class ArgumentValueError(CallError):
    """An argument has the right type and a value that makes no sense; code catches it as a ValueError."""

    def __init__(self, message: str) -> None:
        super().__init__("", message)
        self.message = message


class ToolFailedError(CallError, names=("kind", "incident")):
    """The tool raised; `kind` is the builtin exception it was, `incident` finds the traceback in the log.

    Where its helper process ended, `status` is that of waitpid and `tail` the end of what it wrote to stderr.
    """

    def __init__(
        self, tool: str, kind: str, message: str, incident: str, *, status: int | None = None, tail: str = ""
    ) -> None:
        super().__init__(tool, kind, message)
        self.kind = kind
        self.message = message
        self.incident = incident
        self.status = status
        self.tail = tail


class ToolError(CallError):
    """A pack's own error, for its caller to read: `raise ToolError("no such file: a.txt")`."""

    def __init__(self, message: str) -> None:
        super().__init__("")
        self.message = message

    def __str__(self) -> str:
        return self.message


class ModelError(OneToolError, names=("provider",)):
    """A model did not answer; `provider` is whose it is."""

    def __init__(self, provider: str, *details: object) -> None:
        super().__init__(provider, *details)
        self.provider = provider


class MissingExtraError(ModelError, names=("extra",)):
    """The library that speaks to this provider is not installed; `extra` brings it."""

    def __init__(self, provider: str, extra: str) -> None:
        super().__init__(provider, extra)
        self.extra = extra


class ModelRefusedError(ModelError):
    """The provider refused the request, and would refuse it again: key, model or request are wrong."""

    def __init__(self, provider: str, reason: str, *, status: int | None = None) -> None:
        super().__init__(provider, reason)
        self.reason = reason
        self.status = status


class ModelUnavailableError(ModelError):
    """The provider is overloaded, could not be reached, or broke off; `retry_after` is what it asks for, in seconds."""

    def __init__(
        self, provider: str, reason: str, *, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(provider, reason)
        self.reason = reason
        self.retry_after = retry_after
        self.status = status
        self.attempts = 1


class VoiceError(OneToolError, names=("part",)):
    """Listening or speaking cannot go on; `part` is what failed: a file, a device, a recogniser."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(part, reason)
        self.part = part
        self.reason = reason


class MissingVoiceError(VoiceError, names=("package",)):
    """A library that voice needs is not installed, or lacks something of the system; `package` brings it."""

    def __init__(self, part: str, reason: str, *, package: str = with_extra("voice")) -> None:
        super().__init__(part, reason)
        self.package = package


class RunError(OneToolError):
    """The run itself did not reach its end."""


class SandboxError(RunError, names=("layers",)):
    """A confinement layer that this configuration demands is not in force."""

    def __init__(self, layers: Sequence[str]) -> None:
        super().__init__(*layers)
        self.layers = tuple(layers)


class KernelStartError(RunError):
    """No kernel could be started; `reason` is what the zygote said last."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RunTimeoutError(RunError):
    """The run's own clock ran out; `line` is where the code was, if that could be told."""

    def __init__(self, limit: float, line: int | None = None) -> None:
        super().__init__(limit)
        self.limit = limit
        self.line = line


class RunLimitError(RunError, names=("what",)):
    """Memory or scratch space really used went past its limit."""

    def __init__(self, what: str, limit: int, line: int | None = None) -> None:
        super().__init__(what, limit)
        self.what = what
        self.limit = limit
        self.line = line


class RunCrashedError(RunError):
    """The kernel's process ended without a result; `status` is that of waitpid, None if unknown."""

    def __init__(self, status: int | None, line: int | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.line = line


class RunRefusedError(RunError):
    """The kernel broke the protocol between it and the server, or was cancelled."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
