"""Change central code, one expression at a time, and list the changes that no test notices.

    python -m scripts.mutants [--sample 10] [--seed 1] [--minutes 20] [FILE ...]

mutmut chooses a mutant by a variable of the environment, which the processes that our tests start do not inherit;
cosmic-ray brings a database and a plugin system. Here each mutant is written into the file itself, one at a time, and
the file is put back afterwards. Files with changes that git does not have are left alone.

Pytest and the libraries are loaded once; each mutant is tested in a fork, which loads our own code anew.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
LONGEST = 180  # seconds for the tests of one mutant; one that runs longer has been noticed

_STEPS = [
    "tests/unit/execution/test_step_list.py",
    "tests/unit/execution/test_steps.py",
    "tests/unit/execution/test_tool_executor.py",
]
_ARGUMENTS = ["tests/unit/execution/test_validation.py", "tests/unit/execution/test_checkable.py"]
_POLICY = [
    "tests/unit/execution/test_policy.py",
    "tests/unit/execution/test_argument_rules.py",
    "tests/unit/execution/test_value_flows.py",
]
_AUDIT = ["tests/unit/audit/test_reading.py", "tests/unit/audit/test_log.py"]
_AUDITED = ["tests/unit/execution/test_audited_calls.py"]
_JOURNAL = [
    "tests/unit/journal/test_resume.py",
    "tests/unit/journal/test_reuse_and_policy.py",
    "tests/unit/journal/test_withstanding.py",
]
_FENCES = ["tests/unit/run/test_fence_processor.py", "tests/unit/run/test_prefixes.py"]
_RUN = [
    "tests/unit/run/test_clock.py",
    "tests/unit/run/test_patience.py",
    "tests/unit/run/test_waiting_runs.py",
    "tests/unit/run/test_runner.py",
    "tests/unit/run/test_runs.py",
]
_FRONT = [
    "tests/unit/onetool/front/test_rendering.py",
    "tests/unit/onetool/front/test_clients.py",
    "tests/unit/onetool/front/test_pipes.py",
    "tests/unit/onetool/front/test_server.py",
    "tests/e2e/test_front.py",
]

# Each file with the tests that must notice a change to it, the quickest first. A new central file is one line here.
TESTED_BY = {
    "src/ot/execution/tool_executor.py": [
        *_STEPS,
        "tests/unit/test_renamed.py",
        "tests/unit/journal/test_withstanding.py",
    ],
    "src/ot/execution/invocation.py": [
        *_STEPS,
        "tests/unit/execution/test_cancellation.py",
        "tests/unit/execution/test_errors.py",
    ],
    "src/ot/execution/pack_door.py": [*_STEPS, *_AUDITED],
    "src/ot/execution/steps.py": [*_STEPS, "tests/unit/run/test_previews.py"],
    "src/ot/execution/call.py": [*_STEPS, *_AUDITED],
    "src/ot/execution/records.py": _STEPS,
    "src/ot/execution/auditing.py": [*_STEPS, *_AUDITED],
    "src/ot/execution/policy.py": [*_STEPS, *_POLICY],
    "src/ot/execution/rules.py": [*_STEPS, *_POLICY],
    "src/ot/execution/consent.py": [*_STEPS, *_POLICY, "tests/unit/run/test_one_question.py"],
    "src/ot/execution/question_text.py": [*_POLICY, "tests/unit/execution/test_shown_questions.py"],
    "src/ot/execution/validation.py": _ARGUMENTS,
    "src/ot/execution/problems.py": _ARGUMENTS,
    "src/ot/execution/checkable.py": _ARGUMENTS,
    "src/ot/audit/chain.py": _AUDIT,
    "src/ot/audit/log.py": _AUDIT,
    "src/ot/audit/reading.py": _AUDIT,
    "src/ot/execution/resuming.py": [*_JOURNAL, "tests/e2e/test_cli_runs.py"],
    "src/ot/journal/equality.py": _JOURNAL,
    "src/ot/journal/recorded.py": _JOURNAL,
    "src/ot/journal/reuse.py": [*_JOURNAL, "tests/e2e/test_cli_runs.py"],
    "src/ot/journal/run_journal.py": _JOURNAL,
    "src/ot/run/preflight.py": [
        "tests/unit/run/test_preflight.py",
        "tests/unit/run/test_proxied_names.py",
        "tests/unit/run/test_previews.py",
    ],
    "src/ot/run/fence_processor.py": _FENCES,
    **{
        f"src/ot/run/{name}.py": _RUN
        for name in (
            "answer",
            "kept_answers",
            "kernel_calls",
            "kernel_session",
            "namespace",
            "patience",
            "waiting_runs",
        )
    },
    "src/ot/run/live_run.py": [*_RUN, "tests/unit/run/test_asked_elsewhere.py"],
    "src/ot/run/runner.py": [*_RUN, "tests/unit/run/test_preview_attacks.py"],
    "src/ot/run/runs.py": [*_RUN, "tests/unit/run/test_asked_elsewhere.py", "tests/e2e/test_tasks.py"],
    "src/ot/run/client_requests.py": [
        "tests/unit/run/test_asked_elsewhere.py",
        "tests/unit/run/test_one_question.py",
        "tests/unit/run/test_ask_command.py",
        *_RUN,
    ],
    "src/ot/run/kernel_questions.py": ["tests/unit/run/test_ordinary_files.py", *_RUN],
    "src/ot/run/made_calls.py": ["tests/unit/run/test_made_calls.py", *_RUN],
    "src/ot/run/outcome.py": ["tests/unit/run/test_reporting.py", *_RUN],
    "src/ot/run/reporting.py": ["tests/unit/run/test_reporting.py", "tests/unit/run/test_partial_values.py", *_RUN],
    "src/onetool/front/messages.py": [
        "tests/unit/onetool/front/test_messages.py",
        "tests/unit/onetool/front/test_pipes.py",
    ],
    **{
        f"src/onetool/front/{name}.py": _FRONT
        for name in (
            "definition",
            "pipe_server",
            "rendering",
            "sdk_session",
        )
    },
    "src/onetool/front/server.py": [*_FRONT, "tests/e2e/test_shown_answers.py", "tests/e2e/test_contents.py"],
    "src/onetool/front/tool_run.py": [*_FRONT, "tests/e2e/test_tasks.py"],
    "src/onetool/front/commands.py": [*_FRONT, "tests/views/test_answer_view.py"],
    "src/onetool/front/late_app.py": [*_FRONT, "tests/unit/onetool/test_stalls.py"],
    "src/onetool/front/pipes.py": [*_FRONT, "tests/e2e/test_batches.py", "tests/e2e/test_contents.py"],
    "src/onetool/front/offer.py": [*_FRONT, "tests/e2e/test_contents.py"],
    "src/ot_kernel/values.py": [
        "tests/unit/ot_kernel/test_values.py",
        "tests/unit/ot_kernel/test_values_refused.py",
        "tests/unit/ot_kernel/test_rows.py",
    ],
}

RESULTS = ("killed", "explained", "survived")

# Survivors that were looked at, and why no test can or need tell them apart.
EXPLAINED: dict[tuple[str, str], str] = {
    (
        "src/ot/execution/validation.py",
        (
            "(call.positional, call.arguments) if call.positional else call.arguments"
            " -> (call.positional, call.arguments) if not call.positional else call.arguments"
        ),
    ): "only decides whether large arguments are checked on a thread",
    (
        "src/ot/execution/auditing.py",
        (
            "if len(sent) > LARGE_MESSAGE or is_large(arguments):"
            " -> if not (len(sent) > LARGE_MESSAGE or is_large(arguments)):"
        ),
    ): "only decides whether large arguments are described on a thread",
    ("src/ot/execution/auditing.py", "len(sent) > LARGE_MESSAGE -> len(sent) >= LARGE_MESSAGE"): "as above",
    (
        "src/ot/execution/auditing.py",
        "not call.sent or len(call.sent) > MOST -> not call.sent and len(call.sent) > MOST",
    ): "as above",
    ("src/ot/execution/auditing.py", "eq=False -> eq=True"): "nobody compares steps",
    (
        "src/ot/execution/records.py",
        ("self._keep is not None and len(call.packed) > INLINE -> self._keep is not None or len(call.packed) > INLINE"),
    ): "in `begin` a short cut: the longer way sends the same",
    ("src/ot/execution/records.py", "3 -> 4"): "how exactly a log tells a time",
    ("src/ot/execution/records.py", "len(call.packed) > INLINE -> len(call.packed) >= INLINE"): "as in the journal",
    (
        "src/ot/execution/records.py",
        "type(call.value) is not str and is_large(call.value) -> type(call.value) is not str or is_large(call.value)",
    ): "a short cut: the longer way sends the same",
    ("src/ot/execution/call.py", "0 -> 1"): "the depth is always given, but for calls that tests make",
    ("src/ot/execution/call.py", "eq=False -> eq=True"): "nobody compares calls",
    ("src/onetool/front/commands.py", "1 -> 2"): "numbers tell connections apart, wherever they begin",
    ("src/onetool/front/definition.py", "60 -> 61"): "a limit without meaning of its own",
    ("src/onetool/front/late_app.py", "1 -> 2"): "how exactly a log tells a time",
    ("src/onetool/front/tool_run.py", "256 -> 257"): "a limit without meaning of its own",
    (
        "src/onetool/front/server.py",
        (
            "isinstance(other, _Identity) and self._thing is other._thing"
            " -> isinstance(other, _Identity) or self._thing is other._thing"
        ),
    ): "the hash of another thing is another, so that nobody compares them",
    ("src/ot/execution/validation.py", "fast_fail=True -> fast_fail=False"): "refuses the same, more slowly",
    ("src/ot/execution/checkable.py", "use_default=False -> use_default=True"): "the copied schema has no defaults",
    ("src/ot/execution/checkable.py", "use_formats=False -> use_formats=True"): "the copied schema has no formats",
    (
        "src/ot/execution/validation.py",
        "type(value) in PLAIN or not schema -> type(value) in PLAIN and (not schema)",
    ): "a short cut: what follows returns the same value",
    ("src/ot/execution/invocation.py", "4 -> 5"): "the length of an incident's number",
    ("src/ot/execution/checkable.py", "1000 -> 1001"): "a limit without meaning of its own",
    ("src/ot/execution/checkable.py", "200 -> 201"): "a limit without meaning of its own",
    ("src/ot/execution/checkable.py", "len(value) > MAX_NODES -> len(value) >= MAX_NODES"): "as above",
    ("src/ot/run/fence_processor.py", "len(fences) <= _MOST_FENCES -> len(fences) < _MOST_FENCES"): "as above",
    (
        "src/ot/execution/resuming.py",
        "len(call.sent) > LARGE_MESSAGE -> len(call.sent) >= LARGE_MESSAGE",
    ): "only decides whether large arguments are described on a thread",
    (
        "src/ot/run/made_calls.py",
        "len(value) <= _MOST_TEXT -> len(value) < _MOST_TEXT",
    ): "a limit without meaning of its own",
    ("src/ot/journal/run_journal.py", "1024 -> 1025"): "a limit without meaning of its own",
    ("src/ot/run/fence_processor.py", "1000 -> 1001"): "a limit without meaning of its own",
    ("src/ot/run/fence_processor.py", "1024 -> 1025"): "the figure of a limit, which tests name",
    ("src/ot_kernel/values.py", "200 -> 201"): "how much an error shows of a long place",
    ("src/ot/execution/question_text.py", "100 -> 101"): "a limit without meaning of its own",
    ("src/ot/execution/problems.py", "5 -> 6"): "a limit without meaning of its own",
    ("src/ot/audit/chain.py", "5000 -> 5001"): "a limit without meaning of its own",
    ("src/ot/execution/resuming.py", "256 -> 257"): "only decides whether arguments are described on a thread",
    ("src/ot/journal/equality.py", "check_circular=False -> check_circular=True"): "refuses the same, more slowly",
    ("src/ot/run/client_requests.py", "1024 -> 1025"): "a limit without meaning of its own",
    ("src/ot/run/kept_answers.py", "eq=False -> eq=True"): "nobody compares them",
    ("src/ot/run/namespace.py", "eq=False -> eq=True"): "nobody compares them",
    ("src/ot/run/made_calls.py", "eq=False -> eq=True"): "nobody compares them",
    ("src/ot/run/made_calls.py", "size > LARGE_MESSAGE -> size >= LARGE_MESSAGE"): "a limit without meaning of its own",
    ("src/ot/run/made_calls.py", "200 -> 201"): "a limit without meaning of its own",
    ("src/ot/run/kernel_calls.py", "64 -> 65"): "a limit without meaning of its own",
    (
        "src/ot/run/kernel_calls.py",
        (
            "if self._begun == 1 and (not self._kernel.has_ended()):"
            " -> if not (self._begun == 1 and (not self._kernel.has_ended())):"
        ),
    ): "only decides on which processor a kernel goes on",
    ("src/ot/run/waiting_runs.py", "32 -> 33"): "a limit without meaning of its own",
    ("src/ot/run/runner.py", "2 -> 3"): "only decides how many threads read large messages",
    ("src/onetool/front/rendering.py", "60000 -> 60001"): "a limit without meaning of its own",
    ("src/ot/run/made_calls.py", "3 -> 4"): "how many calls are shown before they are counted only",
    (
        "src/ot/run/made_calls.py",
        "if len(self._unsorted) >= _MOST_UNSORTED: -> if not len(self._unsorted) >= _MOST_UNSORTED:",
    ): "only decides when they are sorted",
    (
        "src/ot/run/kernel_questions.py",
        "len(message['references']) > MAX_REFERENCES -> len(message['references']) >= MAX_REFERENCES",
    ): "a limit without meaning of its own",
    ("src/ot/run/live_run.py", "0 -> 1"): "how long a person may be asked, in seconds, which is 0 or many",
    ("src/ot/run/runs.py", "3 -> 4"): "how exactly a log tells a time",
    ("src/ot/run/preflight.py", "10000 -> 10001"): "a limit without meaning of its own",
    ("src/ot/run/preflight.py", "len(name) > MAX_NAME -> len(name) >= MAX_NAME"): "as above",
    ("src/ot/run/fence_processor.py", "newline < 0 -> newline <= 0"): "what is looked for is behind three tildes",
    ("src/ot/run/kept_answers.py", "32 -> 33"): "a limit without meaning of its own",
    ("src/ot/journal/recorded.py", "1 -> 2"): "any number below those of calls",
    ("src/ot_kernel/values.py", "80 -> 81"): "how much an error shows of a long place",
    ("src/ot_kernel/values.py", "1000 -> 1001"): "a limit without meaning of its own",
    ("src/onetool/front/late_app.py", "passed > stall -> passed >= stall"): "no two times are the same",
    (
        "src/ot/run/outcome.py",
        "return replace(outcome, not_kept=str(error)) -> return None",
    ): "what has crossed can cross again: a guard against what nobody has thought of",
    (
        "src/ot/run/runs.py",
        "run.outcome is None -> run.outcome is not None",
    ): "only a server that ends leaves a run without an outcome, and never looks at it again",
}

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed expression; `source` is the whole file with it."""

    file: str
    line: int
    change: str
    source: str


def main() -> int:
    """Return 1 if a mutant survives that nobody has explained."""
    parser = argparse.ArgumentParser(prog="mutants", description="List changes to central code that no test notices.")
    parser.add_argument("files", nargs="*", default=list(TESTED_BY), metavar="FILE")
    parser.add_argument("--sample", type=int, default=10, help="how many of each file, at random (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="chooses other ones (default: 1)")
    parser.add_argument("--minutes", type=float, default=20, help="begin no mutant after this time (default: 20)")
    options = parser.parse_args()
    ends = time.monotonic() + 60 * options.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # the file is put back on the way out
    return 1 if sum([try_file(file, options.sample, options.seed, ends) for file in options.files]) else 0


def try_file(file: str, sample: int, seed: int, ends: float) -> int:
    """Try some mutants of one file; returns how many survive that nobody has explained."""
    mutants = list(find_mutants(file))
    found: Counter[str] = Counter()
    if time.monotonic() < ends:
        _warm_up(TESTED_BY[file])
        if is_noticed(Mutant(file, 0, "unchanged", (ROOT / file).read_text(encoding="utf-8"))):
            sys.exit(f"{file}: its tests fail without any change")
    for mutant in random.Random(seed).sample(mutants, min(sample, len(mutants))):
        if time.monotonic() > ends:
            break
        reason = EXPLAINED.get((file, mutant.change), "")
        result = "killed" if is_noticed(mutant) else "explained" if reason else "survived"
        found[result] += 1
        if result != "killed":
            _say(f"{file}:{mutant.line}: {mutant.change}{f'  ({reason})' if reason else ''}")
    _say(f"{file}: {found.total()} of {len(mutants)} tried, {', '.join(f'{found[one]} {one}' for one in RESULTS)}")
    return found["survived"]


def find_mutants(file: str) -> Iterator[Mutant]:
    """Every change to one file that is worth a try."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for number, node in enumerate(ast.walk(ast.parse(text))):
        if _change(copy(node)):
            tree = ast.parse(text)
            changed = list(ast.walk(tree))[number]
            _change(changed)
            yield Mutant(file, getattr(node, "lineno", 0), f"{_show(node)} -> {_show(changed)}", ast.unparse(tree))


def _show(node: ast.AST) -> str:
    shown = ast.unparse(node).partition("\n")[0]
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _change(node: ast.AST) -> bool:
    """Change a node in place; False where there is nothing to change."""
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [_COMPARISONS[type(operator)]()]
        case ast.BoolOp(op=operator):
            node.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator):
            node.op = ast.Sub() if isinstance(operator, ast.Add) else ast.Add()
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return False  # for type checkers only
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.keyword(arg="frozen" | "slots" | "kw_only" | "strict"):
            return False  # a promise to readers and type checkers; nothing that a caller observes
        case ast.keyword(value=ast.Constant(value=bool() as value)) | ast.Return(
            ast.Constant(value=bool() | int() | str() as value)
        ):
            node.value = ast.Constant(not value)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            node.value = ast.Constant(None)
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            node.value = value + 1
        case _:
            return False
    return True


def _warm_up(tests: list[str]) -> None:
    """Load what the tests need, and forget what is ours: that is where a mutant is."""
    with _in_silence():
        pytest.main([*OPTIONS, "-s", "--collect-only", *tests])  # `mcp` keeps the stderr that it is loaded with
    ours = {"scripts", "tests", *(folder.name for folder in (ROOT / "src").iterdir())}
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]


def is_noticed(mutant: Mutant) -> bool:
    """True if a test fails, or does not end, with this change."""
    with _written(ROOT / mutant.file, mutant.source):
        child = os.fork()
        if child == 0:
            os._exit(_test(mutant))
        end = os.pidfd_open(child)
        if not select.select([end], [], [], LONGEST)[0]:
            os.killpg(child, signal.SIGKILL)
        os.close(end)
        _, status = os.waitpid(child, 0)
        return status != 0


def _test(mutant: Mutant) -> int:
    """Run the tests in a process that was forked for them."""
    os.setsid()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    with _in_silence():
        return int(pytest.main([*OPTIONS, *TESTED_BY[mutant.file]]))


@contextmanager
def _in_silence() -> Iterator[None]:
    """Send to nowhere what pytest says."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _written(file: Path, source: str) -> Iterator[None]:
    """Put another text into a file, and back, with its time: what Python has compiled from it stays valid."""
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", file], cwd=ROOT, check=False).returncode:
        sys.exit(f"{file} has changes that are not committed")
    original, times = file.read_bytes(), file.stat()
    try:
        file.write_text(source, encoding="utf-8")
        yield
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
