"""The sentence for every error of the tree: what happened, where, and the way out. Worded here and nowhere else."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from mcp_core.nearest_names import nearest
from ot import errors
from ot.config.mistakes import Mistake
from ot.logs import word_incident
from ot.store.owner import word_unreachable
from ot.trust.project_trust import trust_command
from ot_sdk.failures import builtin_name

NAMES_SHOWN = 40
STARTS_FRESH = "Each run starts fresh: names of an earlier run are gone."
_NEAR = 0.7
_STILL_RUNNING = " It is still running and may still have side effects."
_MOST_PROBLEMS = 10
_TAIL_LINES = 12
_TAIL_WIDTH = 300
_SHORT_REASON = 100


def word_error(error: errors.OneToolError) -> str:
    """One error in words that its reader can act on."""
    for kind in type(error).__mro__:
        if (sentence := _SENTENCES.get(kind)) is not None:
            return sentence.format(error=error) if isinstance(sentence, str) else sentence(error)
    return str(error)


def builtin_kind(error: errors.OneToolError) -> str:
    """The builtin exception under which code may catch it too."""
    if isinstance(error, errors.ToolFailedError | errors.RecordedFailureError):
        return error.kind
    if isinstance(error, errors.ToolError) and isinstance(error.__cause__, Exception):
        return builtin_name(error.__cause__)
    return error.caught_as


def list_names(wanted: str, names: Iterable[str]) -> str:
    """Names nearest to the wanted one first: whole up to 40, beyond that the 40 nearest and how many there are."""
    known = nearest(wanted, names)
    if not known:
        return "none"
    shown = ", ".join(known[:NAMES_SHOWN])
    return shown if len(known) <= NAMES_SHOWN else f"{shown} ({NAMES_SHOWN} of {len(known)})"


def is_near(name: str, names: Iterable[str]) -> bool:
    """True if one of the names may have been meant by this one."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only whoever has mistaken a name waits for it

    return any(SequenceMatcher(None, name.lower(), other.lower()).ratio() >= _NEAR for other in names)


def is_module(name: str) -> bool:
    """True for a module of the standard library, which code may have forgotten to import."""
    return name in sys.stdlib_module_names and not name.startswith("_")


def _word_config(error: errors.ConfigError) -> str:
    place = ": ".join(str(part) for part in (error.file, error.key) if part)
    fix = f"; {error.fix}" if error.fix else ""
    return f"{place}: {error.reason}{fix}" if place else f"{error.reason}{fix}"


def _word_untrusted(what: str, project: str) -> str:
    return (
        f"{what} belongs to the project in {project}, which is not trusted in its current state. A person can review "
        f"and trust it with `{trust_command(Path(project))}`; code cannot."
    )


def word_mistakes(mistakes: Iterable[Mistake]) -> list[str]:
    """Say what is off, because its settings are wrong."""
    return [
        f"{'.'.join(each.entry)} {'is off' if len(each.entry) > 1 else 'has its defaults'}: {word_error(each.error)}"
        for each in mistakes
    ]


def _word_wrong(what: str, mistake: str) -> str:
    return f"{what} is off, because its settings are wrong: {mistake}. Correct them, then call ot.reload()."


def _word_unknown_tool(error: errors.UnknownToolError) -> str:
    tool = error.tool.partition(".")[2] or error.tool
    names = list_names(tool, error.available)
    return f"The pack {error.pack} has no tool {tool!r}. Tools of {error.pack}: {names}."


def _word_timeout(error: errors.ToolTimeoutError) -> str:
    end = _STILL_RUNNING if error.still_running else " It was stopped."
    key = f" Its limit is {error.key} in the configuration." if error.key else ""
    return f"{error.tool} took longer than {error.limit:.3g} s.{end}{key}"


def _word_server_unavailable(error: errors.ServerUnavailableError) -> str:
    effect = " It is unknown whether the call had side effects." if error.begun else ""
    remedy = error.remedy or "Call it again to reconnect; ot.health() shows the state of every server."
    name = error.tool or error.server
    return f"{name}: the server {error.server} {error.reason}.{effect} {remedy}{_last_words(error.tail)}"


def _word_tool_changed(error: errors.ToolChangedError) -> str:
    what = "was added after its server was accepted" if error.new else "has changed since it was accepted"
    used = f"The prompt {error.prompt!r} of {error.server} was not filled in" if error.prompt else ""
    used = f"The view {error.view} of {error.server} was not shown" if error.view else used
    return (
        f"{used or f'{error.tool} was not called'}: it {what} (security.pin_tools). A person can review the "
        f"change and accept it with `onetool accept {error.server}`; code cannot."
    )


def _word_worker_crashed(error: errors.WorkerCrashedError) -> str:
    end = f": {_word_status(error.status)}" if error.status is not None else ""
    effect = "Its side effects are unknown." if error.begun else "The call had not started."
    return f"{error.tool} did not finish: {error.reason}{end}. {effect}{_last_words(error.tail)}"


def last_lines(tail: str) -> list[str]:
    """Return the end of what a process wrote to stderr, short enough for an answer; the log has more of it."""
    return [line[:_TAIL_WIDTH] for line in tail.strip().splitlines()[-_TAIL_LINES:]]


def _last_words(tail: str) -> str:
    lines = last_lines(tail)
    return "".join(["\nIts stderr ended with:", *(f"\n  {line}" for line in lines)]) if lines else ""


def _word_failed(error: errors.ToolFailedError) -> str:
    end = f": {_word_status(error.status)}" if error.status is not None else ""
    place = f"{error.place}; " if error.place else ""
    incident = word_incident(error.incident)
    return f"{error.tool} failed: {error.kind}: {error.message}{end} ({place}{incident}){_last_words(error.tail)}"


def _word_preflight(error: errors.PreflightError) -> str:
    lines = ["Nothing was executed."]
    lines += [f"line {line}: {_word_problem(problem)}" for line, problem in error.problems[:_MOST_PROBLEMS]]
    if len(error.problems) > _MOST_PROBLEMS:
        lines.append(f"... and {len(error.problems) - _MOST_PROBLEMS} more problems.")
    if any(_may_be_a_variable(problem) for _, problem in error.problems):
        lines.append(STARTS_FRESH)
    return "\n".join(lines)


def _word_skill_preflight(error: errors.SkillPreflightError) -> str:
    lines = [f"{error.tool}: none of it was executed."]
    lines += [
        f"{error.file}, line {line}: {_word_problem(problem)}" for line, problem in error.problems[:_MOST_PROBLEMS]
    ]
    return "\n".join(lines)


def _word_problem(problem: errors.CallError) -> str:
    if isinstance(problem, errors.UnknownPackError) and is_module(problem.pack):
        renamed = f"{problem.pack}_"  # a server with the name of a module
        other = f", or call the pack {renamed}" if renamed in problem.available else ""
        return f"{problem.pack} is not defined. Add `import {problem.pack}`{other}."
    return word_error(problem)


def _may_be_a_variable(problem: errors.CallError) -> bool:
    """True for an unknown pack that looks neither like a module nor like a pack with a typing mistake."""
    if not isinstance(problem, errors.UnknownPackError) or is_module(problem.pack):
        return False
    return not is_near(problem.pack, [*problem.available, *map(_absent_name, problem.absent)])


def _word_absent(error: errors.UnknownPackError) -> str:
    """A line about packs that are not here and should be; ot.health() has the whole of each reason."""
    changed = [each for each in error.absent if isinstance(each, errors.ChangedFilesError)]
    absent = [each for each in error.absent if each not in changed]
    lines = [word_error(each) for each in changed]
    if absent:
        reasons = [_shortly(each) for each in absent[:_MOST_PROBLEMS]]
        more = len(absent) - len(reasons)
        all_of_them = f"{'; '.join(reasons)}{f'; {more} more' if more else ''}"
        lines.append(f"Unavailable: {all_of_them}. ot.health() has the details.")
    return "".join(f"\n{line}" for line in lines)


def _absent_name(absence: errors.CallError) -> str:
    return absence.server if isinstance(absence, errors.ServerUnavailableError) else getattr(absence, "pack", "")


def _shortly(absence: errors.CallError) -> str:
    name = _absent_name(absence)
    match absence:
        case errors.ServerUnavailableError():
            first = absence.reason.partition("\n")[0]
            return f"{name} {first if len(first) <= _SHORT_REASON else f'{first[:_SHORT_REASON]}…'}"
        case errors.WrongSettingsError():
            return f"{name} is off, because its settings are wrong"
        case errors.BrokenPackError():
            return f"{name} is broken"
    return name


def _at_line(line: int | None) -> str:
    return f" at line {line}" if line else ""


def _word_status(status: int | None) -> str:
    if status is None:
        return "the reason is unknown"
    number = status & 0x7F
    if not number:
        return f"it exited with status {status >> 8}"
    try:
        return f"it was killed by {signal.Signals(number).name}"
    except ValueError:
        return f"it was killed by signal {number}"


def _size(limit: int) -> str:
    for unit, size in (("GB", 1024**3), ("MB", 1024**2), ("kB", 1024)):
        if limit >= size:
            return f"{limit / size:.3g} {unit}"
    return f"{limit} bytes"


def _word_limit(error: errors.LimitReachedError) -> str:
    if not error.free_in:
        return (
            f"You have reached the limit of {error.limit} concurrent runs ({error.key}). The command was not run. "
            "Try again when one of them has ended: ot.wait waits for a run, and ot.stop ends one."
        )
    return (
        f"You have reached the limit of {error.limit} runs per minute ({error.key}). The command was not run. "
        f"Try again in {math.ceil(error.free_in)} s."
    )


def _word_call_limit(error: errors.CallLimitError) -> str:
    if error.problem:
        return f"{error.tool} was not called: the limit {error.key} cannot be checked at the moment: {error.problem}."
    return (
        f"{error.tool} was not called: you have reached the limit of {error.limit} calls per minute ({error.key}). "
        f"Calls are accepted again in {math.ceil(error.free_in)} s; do the rest in a later run."
    )


def _word_flow(error: errors.FlowDeniedError) -> str:
    if error.argument:
        return (
            f"{error.tool} was not called: {error.argument} carries what {error.read} brought, and the configuration "
            "does not let that reach this tool (policy.flows). Other calls of it are now refused as well."
        )
    return (
        f"{error.tool} was not called: {error.read} was called before, and the configuration does not let its results "
        "reach this tool (policy.flows), in this run or in later runs of this client."
    )


_SENTENCES: dict[type, str | Callable[[Any], str]] = {
    errors.ConfigError: _word_config,
    errors.LegacyPrefixError: "Invalid syntax: !onetool is not a prefix of a command. Send the Python code by itself.",
    errors.CommandTooLargeError: (
        "The command has {error.size:,} bytes; a run accepts {error.limit:,}. "
        "Put large data into a file and read it with a pack, or send several runs."
    ),
    errors.UnknownSnippetError: lambda error: (
        f"There is no snippet ${error.name}. Snippets: {list_names(error.name, error.available)}."
    ),
    errors.UntrustedSnippetError: lambda error: _word_untrusted(f"The snippet ${error.name}", error.project),
    errors.WrongSnippetError: lambda error: _word_wrong(f"The snippet ${error.name}", error.mistake),
    errors.BrokenPackError: (
        "The pack {error.pack} is broken: {error.place}: {error.reason}. Fix its file to make it available again."
    ),
    errors.AliasTargetError: lambda error: (
        f"The alias {error.alias} refers to {error.target} (aliases.{error.alias} in the configuration). "
        f"{word_error(error.reason)}"
    ),
    errors.WrongAliasError: lambda error: _word_wrong(f"The alias {error.alias}", error.mistake),
    errors.WrongSettingsError: lambda error: _word_wrong(f"The pack {error.pack}", error.mistake),
    errors.UntrustedPackError: lambda error: _word_untrusted(f"The pack {error.pack}", error.project),
    errors.ChangedFilesError: lambda error: (
        f"Files of the project in {error.project} have changed since they were trusted: "
        f"{', '.join(error.files[:_MOST_PROBLEMS])}{', ...' if len(error.files) > _MOST_PROBLEMS else ''}. What they "
        f"define now is missing. A person can review and trust them with `{trust_command(Path(error.project))}`; "
        f"code cannot."
    ),
    errors.UntrustedSkillError: lambda error: _word_untrusted(f"The skill {error.skill}", error.project),
    errors.BrokenSkillError: lambda error: (
        f"{error.tool} is broken: {error.file}{f', line {error.line}' if error.line else ''}: {error.reason}."
    ),
    errors.SkillPreflightError: _word_skill_preflight,
    errors.NewSkillError: "No skill {error.name!r} was written: {error.reason}.",
    errors.SnippetError: "${error.name}: {error.reason}. Usage: {error.usage}",
    errors.AliasCycleError: lambda error: f"These aliases lead back to themselves: {' -> '.join(error.cycle)}.",
    errors.PackLoadError: lambda error: (
        f"{error.file.name}{f', line {error.line}' if error.line else ''}: {error.reason}"
    ),
    errors.NewExtensionError: "No extension {error.name!r} was written: {error.reason}.",
    errors.PreflightError: _word_preflight,
    errors.UnknownPackError: lambda error: (
        f"There is no pack {error.pack!r}. Packs: {list_names(error.pack, error.available)}.{_word_absent(error)}"
    ),
    errors.SwitchedOffError: lambda error: (
        f"The {error.kind} {error.name} is switched off. "
        f"A person can switch it on in "
        f"{'their ~/.onetool/onetool.yaml' if error.kind == 'pack' else 'the configuration'}: {error.key}: true."
    ),
    errors.UnknownToolError: _word_unknown_tool,
    errors.NameTooLongError: "A name of {error.size:,} characters was refused: the maximum is {error.limit}.",
    errors.UnknownProjectError: lambda error: (
        f"proj has no {error.name!r}. Functions: {list_names(error.name, error.functions)}. "
        f"Projects: {list_names(error.name, error.projects)}."
    ),
    errors.ToolArgumentError: lambda error: f"{error.tool}: {'; '.join(error.problems)}. Expected: {error.signature}",
    errors.ToolDeniedError: "{error.tool} is not allowed here: the configuration denies {error.rule!r} (policy.deny).",
    errors.NotGrantedError: (
        "You don't have access to {error.tool}. Ask an administrator to grant it to one of your groups."
    ),
    errors.UnsupportedToolError: (
        "{error.tool} was not called: its server {error.lacks}. ot.help(query=...) may find another tool."
    ),
    errors.NotOnlyReadingError: (
        "{error.tool} was not called: it may change something, and this tool only reads. `run` would make the call."
    ),
    errors.FlowDeniedError: _word_flow,
    errors.ConsentError: "{error.tool} was not called: a person must agree first, and {error.reason} ({error.rule}).",
    errors.ToolTimeoutError: _word_timeout,
    errors.ToolStoppedError: lambda error: (
        f"{error.tool} was {f'cancelled.{_STILL_RUNNING}' if error.still_running else 'not called: its run has ended.'}"
    ),
    errors.ServiceUnavailableError: (
        "{error.tool}: the service is unavailable ({error.reason}). Try again later, or check the network."
    ),
    errors.ServiceError: "{error.tool}: {error.service} did not answer as expected: {error.reason}.",
    errors.KeyRefusedError: (
        "{error.tool}: {error.service} rejected the key in the secret {error.secret} ({error.reason}). Put a valid "
        "key into ~/.onetool/secrets.yaml; you can get one at {error.page}."
    ),
    errors.PaymentRequiredError: (
        "{error.tool}: {error.service} requires payment ({error.reason}). A person can check the balance and pay at "
        "{error.page}."
    ),
    errors.RateLimitedError: lambda error: (
        f"{error.tool}: {error.service} is rate-limited for "
        f"{error.wait:{',.0f' if error.wait >= 100 else '.3g'}} s, longer than this call may wait ({error.reason}). "
        f"Make fewer calls at once, try again later, or set the rate of your plan in {error.rate_key}."
    ),
    errors.ServiceRefusedError: (
        "{error.tool}: {error.service} rejected the request with status {error.status}: {error.reason}."
    ),
    errors.ServiceAnswerError: (
        "{error.tool}: {error.service} answered with {error.reason}. Try again later; if {error.address_key} is set, "
        "check that the service is running there."
    ),
    errors.ServerUnavailableError: _word_server_unavailable,
    errors.ToolChangedError: _word_tool_changed,
    errors.WorkerStartError: lambda error: (
        f"{error.tool}: its worker could not be started: {error.reason}.{_last_words(error.tail)}"
    ),
    errors.PackNotReadyError: lambda error: (
        f"{error.tool}: its libraries ({', '.join(error.requirements)}) are not installed, and fetching them failed "
        f"({error.reason}); run `onetool fetch {error.pack}` when the network is available."
    ),
    errors.WorkerCrashedError: _word_worker_crashed,
    errors.StatsDisabledError: (
        "Error: Statistics are disabled by the configuration (stats.enabled: false). Set it to true to collect them."
    ),
    errors.DatabaseUnavailableError: "Error: {error.file} cannot be used: {error.reason}.",
    errors.InvalidPeriodError: lambda error: (
        f"Error: Invalid period {error.period!r}. Valid: {', '.join(error.valid)}. Example: ot.stats(period='day')"
    ),
    errors.PathError: lambda error: f"Cannot use {error.path!r}: {error.reason.rstrip('.')}.",
    errors.ReportWriteError: "Error: Cannot write to '{error.path}': {error.reason}",
    errors.NotListedError: lambda error: (
        f"No server lists the {error.kind} {error.wanted!r}. List the {error.kind}s again: servers come, go and change."
    ),
    errors.UnknownResultError: lambda error: (
        f"There is no stored result {error.handle[:60]!r}: handle not found. Pass the handle as the answer gave it, "
        "in quotes."
    ),
    errors.ExpiredResultError: (
        "The stored result {error.handle!r} has expired and is gone (results.keep_for, results.max_size). "
        "Run the code that made it again."
    ),
    errors.NoDetachedRunError: lambda error: (
        f"There is no detached run {error.run[:60]!r}"
        f"{' (running: ' + ', '.join(error.others) + ')' if error.others else ''}. A detached run ends with the server "
        "that started it; its answer is kept for results.keep_for."
    ),
    errors.RecordedFailureError: "{error.message}",
    errors.CallNotRecordedError: "{error.tool} cannot be answered in a replay, which makes no call: {error.reason}.",
    errors.UnknownRunError: (
        "The journal of this project has no run {error.run!r}: the id is wrong, or the run is no longer kept "
        "(journal.keep_for, journal.max_size)."
    ),
    errors.RunNotResumableError: "The run {error.run!r} cannot be resumed: {error.reason}.",
    errors.RunUnreachableError: lambda error: f"Run {error.run}: {word_unreachable(error.seconds)}.",
    errors.RunTakenOverError: (
        "{error.tool} was not called, and run {error.run} ends here: run {error.heir} has taken it over, and does what "
        "is left to do."
    ),
    errors.RunNotUndoableError: "The run {error.run!r} cannot be undone: {error.reason}.",
    errors.LateResumeError: (
        "{error.tool}(...) must be the first statement of the code: calls before it would be made again. Only imports "
        "may come before it."
    ),
    errors.LatePreviewError: (
        "{error.tool}() must be the first statement of the code: calls before it are made. Only imports may come "
        "before it."
    ),
    errors.NoPreviewError: "No preview: {error.reason}.",
    errors.PreviewNotAppliedError: "The preview {error.preview!r} was not applied: {error.reason}.",
    errors.ApplyNotAloneError: (
        '{error.tool}(preview="...") must be alone in its command, and the numbers of calls=[1, 3] written out: '
        "it runs the code of the preview."
    ),
    errors.NotPlannedError: lambda error: (
        f"The run was stopped before {error.call}: preview {error.preview} does not list it"
        f"{f' (it lists {error.listed})' if error.listed else ''}. Preview the code again."
    ),
    errors.FileChangedSinceError: (
        "The run was stopped before {error.tool}: {error.path!r} is no longer as preview {error.preview} showed it. "
        "Preview the code again."
    ),
    errors.NotMadeError: "{error.tool} was not called: this is a preview, which only lists such calls.",
    errors.CallNotRepeatedError: (
        "An earlier run made this call, {error.reason}: {error.call}. It was not repeated, because it may have had "
        'side effects. Find out, then begin with ot.resume(run="{error.run}", unknown="repeat") to make it again, or '
        'with unknown="skip" to continue without it; it then returns None.'
    ),
    errors.CallNotJournalledError: (
        "{error.tool} was not called: a call that may have side effects is recorded first, and that failed "
        "({error.reason}). Try again once the database answers."
    ),
    errors.CallLimitError: _word_call_limit,
    errors.ArgumentValueError: "{error.message}",
    errors.ResultNotKeptError: "It could not be stored: {error.reason}.",
    errors.ToolFailedError: _word_failed,
    errors.ToolError: lambda error: f"{error.tool}: {error.message}" if error.tool else error.message,
    errors.MissingExtraError: lambda error: (
        f"{error.provider} needs a library that is not installed: {install_command(with_extra(error.extra))}"
    ),
    errors.ModelRefusedError: lambda error: (
        f"{error.provider} refused the request{f' (status {error.status})' if error.status else ''}: {error.reason}"
    ),
    errors.ModelUnavailableError: lambda error: (
        f"{error.provider} did not answer{f' after {error.attempts} attempts' if error.attempts > 1 else ''}: "
        f"{error.reason}"
    ),
    errors.VoiceError: "{error.part}: {error.reason}.",
    errors.MissingVoiceError: lambda error: (
        f"Voice needs {error.part}, which cannot be loaded ({error.reason}): {install_command(error.package)}"
    ),
    errors.SandboxError: lambda error: (
        f"Runs are refused: the sandbox is not in force ({', '.join(error.layers)}). "
        "The configuration says how much is required: execution.sandbox, and, for a system that lacks a layer, "
        "execution.engine and execution.without."
    ),
    errors.KernelStartError: "The run could not be started: {error.reason}.",
    errors.LimitReachedError: _word_limit,
    errors.CannotLookError: (
        "Nothing was run: the configuration lets code write files by itself ({error.key}), so it cannot be kept to "
        "reading. Use `run`."
    ),
    errors.StoreGoneError: (
        "Runs are refused for the moment: {error.reason}. The command was not run, and no earlier answer is lost. "
        "Try again soon: runs are accepted again as soon as the database answers (store in the configuration)."
    ),
    errors.RunTimeoutError: lambda error: (
        f"The run took longer than {error.limit:.3g} s and was stopped{_at_line(error.line)}. "
        "Do less in one run, or call slow tools together with ot.parallel; the limit is execution.timeout in the "
        "configuration."
    ),
    errors.RunLimitError: lambda error: (
        f"The run used more {error.what} than its limit of "
        f"{error.limit if error.what == 'threads' else _size(error.limit)} and was stopped{_at_line(error.line)}. "
        "Work on smaller pieces."
    ),
    errors.RunCrashedError: lambda error: (
        f"The run's process ended without a result{_at_line(error.line)}: {_word_status(error.status)}."
    ),
    errors.RunRefusedError: "The run was stopped: {error.reason}.",
}
