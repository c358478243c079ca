"""Every error of the tree has a sentence, and a builtin that code may catch it as."""

from __future__ import annotations

import builtins
import inspect
from pathlib import Path
from typing import Any

import pytest

from mcp_core.distribution import with_extra
from mcp_core.installation import install_command
from ot import errors
from ot.execution.wording import builtin_kind, list_names, word_error


def _of_tool(error: errors.CallError) -> errors.CallError:
    error.tool = "a.b"
    return error


EXAMPLES: list[tuple[errors.OneToolError, str]] = [
    (errors.PathError("src", "it is a folder"), "Cannot use 'src': it is a folder."),
    (errors.PathRefusedError("/etc", "it is outside"), "Cannot use '/etc': it is outside."),
    (errors.MissingPathError("a.txt", "No such file"), "Cannot use 'a.txt': No such file."),
    (errors.ChangedFileError("a.txt", "it was changed"), "Cannot use 'a.txt': it was changed."),
    (
        errors.ConfigError("unknown key", file=Path("/p/onetool.yaml"), key="sever", fix="did you mean servers?"),
        "/p/onetool.yaml: sever: unknown key; did you mean servers?",
    ),
    (errors.ConfigError("is not valid YAML"), "is not valid YAML"),
    (errors.KeychainError("is locked", key="TOKEN", fix="unlock it"), "TOKEN: is locked; unlock it"),
    (errors.UnsetVariableError("no value for TOKEN", variable="TOKEN", fix="set it"), "no value for TOKEN; set it"),
    (
        errors.CallLimitError("mail.send", "limits.calls_per_minute", 60, 4.2),
        (
            "mail.send was not called: you have reached the limit of 60 calls per minute (limits.calls_per_minute). "
            "Calls are accepted again in 5 s; do the rest in a later run."
        ),
    ),
    (
        errors.LegacyPrefixError(),
        "Invalid syntax: !onetool is not a prefix of a command. Send the Python code by itself.",
    ),
    (
        errors.CommandTooLargeError(3_000_000, 2_097_152),
        (
            "The command has 3,000,000 bytes; a run accepts 2,097,152. "
            "Put large data into a file and read it with a pack, or send several runs."
        ),
    ),
    (errors.UnknownSnippetError("wq", ["other", "wsq"]), "There is no snippet $wq. Snippets: wsq, other."),
    (errors.UnknownSnippetError("wq", []), "There is no snippet $wq. Snippets: none."),
    (
        errors.UntrustedSnippetError("wq", "/clone"),
        (
            "The snippet $wq belongs to the project in /clone, which is not trusted in its current state. A "
            "person can review and trust it with `onetool trust /clone`; code cannot."
        ),
    ),
    (
        errors.UntrustedPackError("notes", "/my clone"),
        (
            "The pack notes belongs to the project in /my clone, which is not trusted in its current state. "
            "A person can review and trust it with `onetool trust '/my clone'`; code cannot."
        ),
    ),
    (
        errors.ChangedFilesError("/shop", ["onetool.yaml", "tools/desk.py"]),
        (
            "Files of the project in /shop have changed since they were trusted: onetool.yaml, tools/desk.py. What they "
            "define now is missing. A person can review and trust them with `onetool trust /shop`; code cannot."
        ),
    ),
    (
        errors.UntrustedSkillError("skills", "/shop", "weekly"),
        (
            "The skill weekly belongs to the project in /shop, which is not trusted in its current state. A "
            "person can review and trust it with `onetool trust /shop`; code cannot."
        ),
    ),
    (
        errors.BrokenSkillError("skills.weekly", "weekly.py", "it has no function", 3),
        "skills.weekly is broken: weekly.py, line 3: it has no function.",
    ),
    (
        errors.SkillPreflightError("skills.weekly", "weekly.py", [(4, errors.UnknownPackError("maill", ["mail"]))]),
        ("skills.weekly: none of it was executed.\nweekly.py, line 4: There is no pack 'maill'. Packs: mail."),
    ),
    (errors.NewSkillError("weekly", "there is one"), "No skill 'weekly' was written: there is one."),
    (errors.SnippetError("wsq", "q1 is missing", "$wsq q1=..."), "$wsq: q1 is missing. Usage: $wsq q1=..."),
    (
        errors.AliasTargetError("up", "demos.upper", reason=errors.UnknownPackError("demos", ["demo"])),
        (
            "The alias up refers to demos.upper (aliases.up in the configuration). There is no pack 'demos'."
            " Packs: demo."
        ),
    ),
    (
        errors.WrongAliasError("up", "aliases.up: must be text"),
        (
            "The alias up is off, because its settings are wrong: aliases.up: must be text. "
            "Correct them, then call ot.reload()."
        ),
    ),
    (
        errors.UnknownPackError(
            "x",
            ["demo"],
            [
                errors.ServerUnavailableError("", server="far", reason="is still connecting"),
                errors.WrongSettingsError("odd", "servers.odd: no"),
                errors.BrokenPackError("ext", "line 2", "no"),
            ],
        ),
        (
            "There is no pack 'x'. Packs: demo.\nUnavailable: far is still connecting; odd is off, because its settings "
            "are wrong; ext is broken. ot.health() has the details."
        ),
    ),
    (errors.AliasCycleError(["a", "b", "a"]), "These aliases lead back to themselves: a -> b -> a."),
    (errors.PackLoadError(Path("/x/brave.py"), "not valid Python", 3), "brave.py, line 3: not valid Python"),
    (
        errors.StatsDisabledError(),
        "Error: Statistics are disabled by the configuration (stats.enabled: false). Set it to true to collect them.",
    ),
    (
        errors.DatabaseUnavailableError(Path("/h/stats.db"), "file is not a database"),
        "Error: /h/stats.db cannot be used: file is not a database.",
    ),
    (
        errors.DatabaseDamagedError(Path("/h/notes.db"), "database disk image is malformed"),
        "Error: /h/notes.db cannot be used: database disk image is malformed.",
    ),
    (
        errors.DatabaseBusyError(Path("/h/notes.db"), "another server is writing to it; try again"),
        "Error: /h/notes.db cannot be used: another server is writing to it; try again.",
    ),
    (
        errors.InvalidPeriodError("invalid", ["day", "all"]),
        "Error: Invalid period 'invalid'. Valid: day, all. Example: ot.stats(period='day')",
    ),
    (
        errors.ReportWriteError("a.html", "No such file or directory"),
        "Error: Cannot write to 'a.html': No such file or directory",
    ),
    (
        errors.NewExtensionError("demo", "a pack with this name already exists"),
        "No extension 'demo' was written: a pack with this name already exists.",
    ),
    (
        errors.ServerUnavailableError("git.log", server="git", reason="ended by itself", tail="boom"),
        (
            "git.log: the server git ended by itself. Call it again to reconnect; ot.health() shows the state "
            "of every server.\nIts stderr ended with:\n  boom"
        ),
    ),
    (
        errors.ToolChangedError("git.log", server="git", new=False),
        (
            "git.log was not called: it has changed since it was accepted (security.pin_tools). A person can"
            " review the change and accept it with `onetool accept git`; code cannot."
        ),
    ),
    (
        errors.ToolChangedError("ot.prompts", server="git", new=True, prompt="review"),
        (
            "The prompt 'review' of git was not filled in: it was added after its server was accepted (security.pin_tools). "
            "A person can review the change and accept it with `onetool accept git`; code cannot."
        ),
    ),
    (
        errors.MissingExtraError("anthropic", "anthropic"),
        f"anthropic needs a library that is not installed: {install_command(with_extra('anthropic'))}",
    ),
    (
        errors.ModelRefusedError("anthropic", "invalid x-api-key", status=401),
        "anthropic refused the request (status 401): invalid x-api-key",
    ),
    (errors.ModelUnavailableError("ollama", "overloaded"), "ollama did not answer: overloaded"),
    (errors.VoiceError("a.wav", "it has no sound"), "a.wav: it has no sound."),
    (
        errors.MissingVoiceError("moonshine", "it is not installed"),
        f"Voice needs moonshine, which cannot be loaded (it is not installed): {install_command(with_extra('voice'))}",
    ),
    (errors.UnknownPackError("demos", ["proj", "demo"]), "There is no pack 'demos'. Packs: demo, proj."),
    (
        errors.SwitchedOffError("server", "mail", key="servers.mail.enabled"),
        "The server mail is switched off. A person can switch it on in the configuration: servers.mail.enabled: true.",
    ),
    (
        errors.UnknownToolError("demo.uper", pack="demo", available=["sleep", "upper"]),
        "The pack demo has no tool 'uper'. Tools of demo: upper, sleep.",
    ),
    (
        errors.NameTooLongError(900_000, 200),
        "A name of 900,000 characters was refused: the maximum is 200.",
    ),
    (
        errors.UnknownProjectError("onetol", functions=["path", "list"], projects=["onetool"]),
        "proj has no 'onetol'. Functions: list, path. Projects: onetool.",
    ),
    (
        errors.ToolArgumentError("a.b", ["x is missing", "y must be int, not str"], "a.b(*, x: int, y: int)"),
        "a.b: x is missing; y must be int, not str. Expected: a.b(*, x: int, y: int)",
    ),
    (
        errors.NotListedError("prompt", "github.reviews"),
        "No server lists the prompt 'github.reviews'. List the prompts again: servers come, go and change.",
    ),
    (
        errors.ToolDeniedError("shell.run", "shell.*"),
        "shell.run is not allowed here: the configuration denies 'shell.*' (policy.deny).",
    ),
    (
        errors.NotGrantedError("git.log", ""),
        ("You don't have access to git.log. Ask an administrator to grant it to one of your groups."),
    ),
    (
        errors.CallNotJournalledError("mail.send", "it does not answer"),
        (
            "mail.send was not called: a call that may have side effects is recorded first, and that failed "
            "(it does not answer). Try again once the database answers."
        ),
    ),
    (
        errors.LimitReachedError("limits.runs_per_minute", 60, 4.2),
        (
            "You have reached the limit of 60 runs per minute (limits.runs_per_minute). The command was not run. "
            "Try again in 5 s."
        ),
    ),
    (
        errors.StoreGoneError("it does not answer"),
        (
            "Runs are refused for the moment: it does not answer. The command was not run, and no earlier "
            "answer is lost. Try again soon: runs are accepted again as soon as the database answers (store "
            "in the configuration)."
        ),
    ),
    (
        errors.WorkerLostError("a.b", "its node is gone"),
        "a.b did not finish: its node is gone. Its side effects are unknown.",
    ),
    (
        errors.UnsupportedToolError("shop.build", "offers it only as a task"),
        "shop.build was not called: its server offers it only as a task. ot.help(query=...) may find another tool.",
    ),
    (
        errors.NotOnlyReadingError("mail.send"),
        "mail.send was not called: it may change something, and this tool only reads. `run` would make the call.",
    ),
    (
        errors.CannotLookError("execution.writable"),
        (
            "Nothing was run: the configuration lets code write files by itself (execution.writable), so it cannot be "
            "kept to reading. Use `run`."
        ),
    ),
    (
        errors.FlowDeniedError("web.post", "mail.read"),
        (
            "web.post was not called: mail.read was called before, and the configuration does not let its "
            "results reach this tool (policy.flows), in this run or in later runs of this client."
        ),
    ),
    (
        errors.FlowDeniedError("web.post", "mail.read", "body"),
        (
            "web.post was not called: body carries what mail.read brought, and the configuration does not let that "
            "reach this tool (policy.flows). Other calls of it are now refused as well."
        ),
    ),
    (
        errors.ConsentError("file.delete", "nobody can be asked here", "policy.ask names file.*"),
        "file.delete was not called: a person must agree first, and nobody can be asked here (policy.ask names file.*).",
    ),
    (errors.ToolTimeoutError("a.b", 30.0), "a.b took longer than 30 s. It was stopped."),
    (
        errors.ToolTimeoutError("a.b", 30.0, key="packs.a.timeout"),
        "a.b took longer than 30 s. It was stopped. Its limit is packs.a.timeout in the configuration.",
    ),
    (
        errors.NoDetachedRunError("r7k2", ["r9"]),
        (
            "There is no detached run 'r7k2' (running: r9). A detached run ends with the server that started"
            " it; its answer is kept for results.keep_for."
        ),
    ),
    (errors.RecordedFailureError("a.b", "ValueError", "a.b failed: no"), "a.b failed: no"),
    (
        errors.CallNotRecordedError("a.b", "the run did not make this call"),
        "a.b cannot be answered in a replay, which makes no call: the run did not make this call.",
    ),
    (
        errors.BrokenPackError("a", "a_tools.py, line 5", "not valid Python"),
        "The pack a is broken: a_tools.py, line 5: not valid Python. Fix its file to make it available again.",
    ),
    (
        errors.WrongSettingsError("a", "file: packs.a: no"),
        ("The pack a is off, because its settings are wrong: file: packs.a: no. Correct them, then call ot.reload()."),
    ),
    (
        errors.WrongSnippetError("s", "file: snippets.s: no"),
        (
            "The snippet $s is off, because its settings are wrong: file: snippets.s: no. "
            "Correct them, then call ot.reload()."
        ),
    ),
    (
        errors.ToolTimeoutError("a.b", 0.5, still_running=True),
        "a.b took longer than 0.5 s. It is still running and may still have side effects.",
    ),
    (errors.ToolStoppedError("a.b"), "a.b was not called: its run has ended."),
    (
        errors.ToolStoppedError("a.b", still_running=True),
        "a.b was cancelled. It is still running and may still have side effects.",
    ),
    (
        errors.ServiceUnavailableError("a.b", "Connection refused"),
        "a.b: the service is unavailable (Connection refused). Try again later, or check the network.",
    ),
    (
        _of_tool(errors.KeyRefusedError("Atlas", "unknown", "ATLAS_KEY", "https://atlas.example/keys")),
        (
            "a.b: Atlas rejected the key in the secret ATLAS_KEY (unknown). Put a valid key into "
            "~/.onetool/secrets.yaml; you can get one at https://atlas.example/keys."
        ),
    ),
    (
        _of_tool(errors.PaymentRequiredError("Atlas", "no credits", "https://atlas.example/keys")),
        (
            "a.b: Atlas requires payment (no credits). A person can check the balance and pay at "
            "https://atlas.example/keys."
        ),
    ),
    (
        _of_tool(errors.RateLimitedError("Atlas", "slow down", 90.0, "packs.atlas.rate")),
        (
            "a.b: Atlas is rate-limited for 90 s, longer than this call may wait (slow down). Make fewer "
            "calls at once, try again later, or set the rate of your plan in packs.atlas.rate."
        ),
    ),
    (
        _of_tool(errors.ServiceRefusedError("Atlas", "no such page", 404)),
        "a.b: Atlas rejected the request with status 404: no such page.",
    ),
    (
        _of_tool(errors.ServiceAnswerError("Atlas", "nothing where JSON was promised", "packs.atlas.base_url")),
        (
            "a.b: Atlas answered with nothing where JSON was promised. Try again later; if "
            "packs.atlas.base_url is set, check that the service is running there."
        ),
    ),
    (
        _of_tool(errors.MissingSecretError("ATLAS_KEY", "https://atlas.example/keys")),
        (
            'a.b: the secret ATLAS_KEY is not set: write `ATLAS_KEY: "..."` into ~/.onetool/secrets.yaml. Keys are given '
            "out at https://atlas.example/keys"
        ),
    ),
    (errors.MissingSecretError("ATLAS_KEY"), "the secret ATLAS_KEY is not set; put it in secrets.yaml"),
    (
        errors.WorkerStartError("a.b", "ImportError: no module named six", "Traceback\n  boom"),
        (
            "a.b: its worker could not be started: ImportError: no module named six.\n"
            "Its stderr ended with:\n  Traceback\n    boom"
        ),
    ),
    (
        errors.WorkerCrashedError("a.b", "its worker ended in the middle of the call", status=9),
        (
            "a.b did not finish: its worker ended in the middle of the call: it was killed by SIGKILL. "
            "Its side effects are unknown."
        ),
    ),
    (
        errors.WorkerCrashedError("a.b", "its worker was stopped because a.c did not end", begun=False),
        "a.b did not finish: its worker was stopped because a.c did not end. The call had not started.",
    ),
    (
        errors.UnknownResultError("nonexistent"),
        (
            "There is no stored result 'nonexistent': handle not found. Pass the handle as the answer gave "
            "it, in quotes."
        ),
    ),
    (
        errors.ExpiredResultError("k7w2m9x4qd"),
        (
            "The stored result 'k7w2m9x4qd' has expired and is gone (results.keep_for, results.max_size). "
            "Run the code that made it again."
        ),
    ),
    (
        errors.UnknownRunError("r7k2"),
        (
            "The journal of this project has no run 'r7k2': the id is wrong, or the run is no longer kept "
            "(journal.keep_for, journal.max_size)."
        ),
    ),
    (
        errors.RunNotResumableError("r7k2", "it is still running"),
        "The run 'r7k2' cannot be resumed: it is still running.",
    ),
    (
        errors.LatePreviewError("ot.preview"),
        (
            "ot.preview() must be the first statement of the code: calls before it are made. Only imports may come "
            "before it."
        ),
    ),
    (errors.NoPreviewError("the journal is switched off"), "No preview: the journal is switched off."),
    (
        errors.PreviewNotAppliedError("r7k2", "that run was no preview"),
        "The preview 'r7k2' was not applied: that run was no preview.",
    ),
    (
        errors.ApplyNotAloneError("ot.apply"),
        (
            'ot.apply(preview="...") must be alone in its command, and the numbers of calls=[1, 3] written out: '
            "it runs the code of the preview."
        ),
    ),
    (
        errors.NotPlannedError("mail.send", "r7k2", 'mail.send(to="a")', 'mail.send(to="b")'),
        (
            'The run was stopped before mail.send(to="a"): preview r7k2 does not list it (it lists mail.send(to="b")). '
            "Preview the code again."
        ),
    ),
    (
        errors.FileChangedSinceError("file.write", "r7k2", "a.txt"),
        (
            "The run was stopped before file.write: 'a.txt' is no longer as preview r7k2 showed it. Preview the code "
            "again."
        ),
    ),
    (
        errors.NotMadeError("mail.send"),
        "mail.send was not called: this is a preview, which only lists such calls.",
    ),
    (
        errors.RunNotUndoableError("r7k2", "it is still running"),
        "The run 'r7k2' cannot be undone: it is still running.",
    ),
    (
        errors.LateResumeError("ot.resume"),
        (
            "ot.resume(...) must be the first statement of the code: calls before it would be made again. Only imports "
            "may come before it."
        ),
    ),
    (
        errors.CallNotRepeatedError("mail.send", "r7k2", 'mail.send(to="a") at 12:00:00', "and its outcome is unknown"),
        (
            'An earlier run made this call, and its outcome is unknown: mail.send(to="a") at 12:00:00. It '
            "was not repeated, because it may have had side effects. Find out, then begin with "
            'ot.resume(run="r7k2", unknown="repeat") to make it again, or with unknown="skip" to continue '
            "without it; it then returns None."
        ),
    ),
    (errors.ArgumentValueError("limit must be >= 1, got 0"), "limit must be >= 1, got 0"),
    (errors.ResultNotKeptError("No space left on device"), "It could not be stored: No space left on device."),
    (
        errors.ToolFailedError("a.b", "KeyError", "'x'", "0a1b2c3d"),
        "a.b failed: KeyError: 'x' (incident 0a1b2c3d; `onetool logs 0a1b2c3d` shows where)",
    ),
    (errors.ToolError("no such file: a.txt"), "no such file: a.txt"),
    (
        errors.PreflightError([(2, errors.UnknownPackError("x", ["demo"])), (5, errors.ToolStoppedError("a.b"))]),
        (
            "Nothing was executed.\n"
            "line 2: There is no pack 'x'. Packs: demo.\n"
            "line 5: a.b was not called: its run has ended.\n"
            "Each run starts fresh: names of an earlier run are gone."
        ),
    ),
    (
        errors.SandboxError(["landlock", "seccomp"]),
        (
            "Runs are refused: the sandbox is not in force (landlock, seccomp). "
            "The configuration says how much is required: execution.sandbox, and, for a system that lacks a layer, "
            "execution.engine and execution.without."
        ),
    ),
    (errors.KernelStartError("no memory"), "The run could not be started: no memory."),
    (
        errors.RunTimeoutError(120.0, 7),
        (
            "The run took longer than 120 s and was stopped at line 7. "
            "Do less in one run, or call slow tools together with ot.parallel; the limit is execution.timeout in the "
            "configuration."
        ),
    ),
    (
        errors.RunLimitError("memory", 1024**3),
        "The run used more memory than its limit of 1 GB and was stopped. Work on smaller pieces.",
    ),
    (
        errors.PackNotReadyError("excel.read", "excel", ["openpyxl>=3"], "Connection refused"),
        (
            "excel.read: its libraries (openpyxl>=3) are not installed, and fetching them failed (Connection refused); "
            "run `onetool fetch excel` when the network is available."
        ),
    ),
    (
        errors.RunLimitError("threads", 256),
        "The run used more threads than its limit of 256 and was stopped. Work on smaller pieces.",
    ),
    (errors.RunCrashedError(11, 3), "The run's process ended without a result at line 3: it was killed by SIGSEGV."),
    (errors.RunCrashedError(1 << 8), "The run's process ended without a result: it exited with status 1."),
    (errors.RunCrashedError(None), "The run's process ended without a result: the reason is unknown."),
    (
        errors.RunUnreachableError("r1", 3.2),
        "Run r1: its replica cannot be reached at the moment; ask again in 4 s.",
    ),
    (
        errors.RunTakenOverError("mail.send", "r1", "r2"),
        "mail.send was not called, and run r1 ends here: run r2 has taken it over, and does what is left to do.",
    ),
    (errors.RunRefusedError("it sent no message"), "The run was stopped: it sent no message."),
]


@pytest.mark.parametrize(("error", "sentence"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_has_its_sentence(error: errors.OneToolError, sentence: str) -> None:
    assert word_error(error) == sentence


def test_no_error_of_the_tree_is_without_an_example() -> None:
    bases = {errors.OneToolError, errors.CommandError, errors.CallError, errors.ModelError, errors.RunError}
    bases |= {errors.ServiceError, errors.ToolCallError, errors.RunEndingError}
    tree = {
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.OneToolError) and kind not in bases
    }

    assert tree == {type(error) for error, _ in EXAMPLES}


@pytest.mark.parametrize("error", [error for error, _ in EXAMPLES], ids=lambda error: type(error).__name__)
def test_every_error_is_also_a_builtin_one(error: errors.OneToolError) -> None:
    kind = getattr(builtins, builtin_kind(error))

    assert issubclass(kind, Exception)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.ToolArgumentError("a.b", [], ""), "TypeError"),
        (errors.ToolTimeoutError("a.b", 1), "TimeoutError"),
        (errors.ToolDeniedError("a.b", ""), "PermissionError"),
        (
            errors.ServiceUnavailableError("a.b", ""),
            "ConnectionError",
        ),
        (errors.UnknownToolError("a.b", pack="a", available=[]), "AttributeError"),
        (
            errors.ToolFailedError("a.b", "KeyError", "", ""),
            "KeyError",
        ),
        (errors.ToolError("x"), "RuntimeError"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_can_be_caught_as_what_they_are_like(error: errors.OneToolError, kind: str) -> None:
    assert builtin_kind(error) == kind


def test_a_tool_error_with_a_cause_can_be_caught_as_its_cause() -> None:
    error: Any = errors.ToolError("no such file")
    error.__cause__ = FileNotFoundError()

    assert builtin_kind(error) == "FileNotFoundError"


def test_up_to_forty_names_are_listed_whole_and_beyond_that_the_nearest() -> None:
    names = [f"tool_{n:03}" for n in range(100)]

    whole, cut = list_names("tool_030", names[:40]), list_names("tool_077", names)

    assert (whole.count(","), whole.split(",")[0]) == (39, "tool_030")
    assert cut.startswith("tool_077, ")
    assert cut.endswith(" (40 of 100)")
    assert cut.count(",") == 39
