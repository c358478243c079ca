"""`onetool audit`: the calls that had side effects, who made and who allowed them; or a check of the log itself."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from onetool.cli import FAILED, OK
from onetool.cli.printing import add_json_argument, complain, say, say_json, say_table
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.audit.calls import AuditedCall, whole_entries
from ot.audit.latest import read_latest
from ot.audit.log import audits_of_everybody
from ot.audit.reading import Chain, Finding, find_chains
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.config.paths import state_folder
from ot.errors import ConfigError
from ot.stats.wording import duration, precise
from ot.store.newest_lines import ALL
from ot.store.opening import POSTGRES
from ot.store.parts import AUDIT_FOLDER, AuditRows

EPILOG = (
    "Calls that only read are not logged. The newest call comes last. "
    "Exit status of --verify: 0 if every line is unchanged, else 1; it cannot detect lines cut off at the end."
)

_HEADINGS = ("time", "client", "run", "tool", "outcome", "took", "allowed or refused by", "arguments in bytes")
_WIDTHS = (19, 24, 8, 60, 24, 9, 100, 100)  # characters at most
_USUAL = 200  # calls
_RUN_NUMBER = 2**31 - 1  # the bits above it identify the server


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--verify", action="store_true", help="check the log for lines that were changed or removed")
    add_json_argument(parser)
    since = "show calls since then: 2026-11-30 or 2026-11-30T18:00"
    parser.add_argument("--since", type=_read_time, metavar="TIME", help=since)
    limit = f"show the last N calls (default: {_USUAL}, or all with --since)"
    parser.add_argument("--limit", type=int, metavar="N", help=limit)
    parser.add_argument("--all", action="store_true", help="include everyone who uses a team's server")
    parser.add_argument("--tool", default="*", metavar="NAME", help="show only this tool or pack, or a pattern")


def main(options: Namespace) -> int:
    with _open_logs(options) as logs:
        if not options.verify:
            return _show(logs, options)
        chains: list[Chain] = []
        with ExitStack() as stack:
            for log in logs:
                chains += find_chains(stack.enter_context(log.copied()))
            return _verify(chains, options)


def _verify(chains: Sequence[Chain], options: Namespace) -> int:
    findings: list[Finding] = []
    lines = sum(1 for chain in chains for _ in whole_entries(chain, findings))
    problems = [finding for finding in findings if not finding.harmless]
    if options.json:
        say_json({"chains": len(chains), "lines": lines, "findings": [each._asdict() for each in findings]})
        return FAILED if problems else OK
    for finding in findings:
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        say(f"{'note: ' if finding.harmless else ''}{place}: {finding.reason}")
    verdict = f"{count_of(len(problems), 'problem')} found" if problems else "OK: every line is as it was written"
    say(f"{verdict} ({count_of(len(chains), 'chain')}, {precise(lines)} whole lines)")
    return FAILED if problems else OK


@contextmanager
def _open_logs(options: Namespace) -> Iterator[Sequence[AuditRows]]:
    """Open the log of this machine, or those of everyone, or the one in the configured database."""
    try:
        loaded: LoadedConfig | None = load(options, tolerant=True)
    except ConfigError:
        loaded = None
    if loaded is None or not (options.all or loaded.config.store.startswith(POSTGRES)):
        yield [AuditRows(state_folder(Path.home()) / AUDIT_FOLDER)]
        return
    from ot.parts.stores import open_own_backend, open_own_store  # files of this machine are read without the engine

    if options.all:
        with open_own_backend(loaded) as backend:
            yield audits_of_everybody(loaded, backend)
        return
    with open_own_store(loaded) as store:
        yield [store.audit]


def _read_time(text: str) -> float:
    """Return a time that a person typed, by default in their time zone."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        example = "write, for example, 2026-11-30 or 2026-11-30T18:00"
        raise ArgumentTypeError(f"{text!r} is not a date or time; {example}") from error


def _show(logs: Sequence[AuditRows], options: Namespace) -> int:
    most = max(options.limit, 1) if options.limit is not None else _USUAL if options.since is None else ALL
    tool = "" if options.tool == "*" else options.tool
    calls, findings, older = read_latest(logs, most=most, since=options.since or 0.0, tool=tool)
    chosen = calls[::-1]
    if options.json:
        say_json([asdict(call) for call in chosen])
    elif not chosen:
        say("No calls with side effects are in the log.")
    elif options.all:
        rows = [(call.person or LOCAL, *_word_call(call)) for call in chosen]
        say_table(rows, (80, *_WIDTHS), ("person", *_HEADINGS))
    else:
        say_table(map(_word_call, chosen), _WIDTHS, _HEADINGS)
    if older is not None:
        complain(f"onetool: only the latest {count_of(len(chosen), 'call')}; --limit N shows more")
    if findings:
        found = count_of(len(findings), "finding")
        complain(f"onetool: the log has been damaged or changed ({found}); see onetool audit --verify")
    return OK


def _word_call(call: AuditedCall) -> tuple[str, ...]:
    try:
        moment = datetime.fromisoformat(call.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        moment = "?"
    return (
        moment,
        call.client if call.connection is None else f"{call.client} #{call.connection}",
        str(call.run & _RUN_NUMBER) if call.run else "",
        call.tool,
        call.outcome,
        "" if call.ms is None else duration(call.ms),
        "; ".join(filter(None, [call.allowed_by, call.refused_by, *call.asked])),
        ", ".join(f"{name}: {size}" for name, size in call.arguments.items()),
    )
