"""`onetool policy try`: what other rules would have done to the calls of the journal."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from onetool.cli import OK, USAGE
from onetool.cli.definitions import read_registry
from onetool.cli.printing import add_json_argument, fail, say, say_json, say_table
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from onetool.rehearsing import TriedRules, read_flow, read_limit, read_since, rehearse_journal, rules_of, word_verdict
from ot.config.documents import read_document
from ot.config.reading import SettingsError
from ot.execution.rehearsal import ASKED, DENIED, LIMITED, Rehearsed
from ot.journal.journal import open_journal
from ot.parts.stores import open_own_store

EPILOG = (
    "Nothing is called, and nobody is asked. The calls are those of this project's runs that the journal still has "
    "(journal.keep_for); a client is taken to be all runs of its name. A rule may be a pattern or a mapping: "
    "--ask '{tool: mail.send, where: {to: \"not *@ours.example\"}}'."
)
_WIDTHS = (6, 40, 24, 70, 70)  # characters at most
Value = TypeVar("Value")


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    trying = actions.add_parser("try", help="show which calls of the past other rules would treat differently")
    trying.add_argument("file", metavar="FILE", nargs="?", type=Path, help="take the rules of this file, not today's")
    trying.add_argument("--ask", metavar="RULE", action="append", default=[], help="add a rule to policy.ask")
    trying.add_argument("--deny", metavar="RULE", action="append", default=[], help="add a rule to policy.deny")
    trying.add_argument(
        "--flow",
        metavar="FROM>TO",
        action="append",
        default=[],
        type=_typed(read_flow),
        help="add a rule to policy.flows",
    )
    trying.add_argument(
        "--limit",
        metavar="KEY=NUMBER",
        action="append",
        default=[],
        type=_typed(read_limit),
        help="set a limit of limits: calls_per_minute, runs_per_minute or concurrent_runs",
    )
    trying.add_argument(
        "--since", metavar="TIME", type=_typed(read_since), help="only calls since then: 12h, 7d, 2026-11-30"
    )
    add_json_argument(trying)


def main(options: Namespace) -> int:
    loaded = load(options)
    try:
        instead = None if options.file is None else read_document(options.file)
        after = TriedRules(options.ask, options.deny, options.flow, options.limit, instead).join(loaded)
    except SettingsError as error:
        return fail(f"onetool policy: {error}", USAGE)
    with open_own_store(loaded) as store:
        found = rehearse_journal(
            open_journal(loaded, store),
            loaded.principal,
            read_registry(loaded),
            rules_of(loaded),
            after,
            options.since or 0.0,
        )
    if options.json:
        say_json(_described(found))
    else:
        _show(found)
    return OK


def _show(found: Rehearsed) -> None:
    if found.unreadable:
        say(f"{count_of(found.unreadable, 'run')} could not be read, and nothing is said of their calls.")
    if not found.calls:
        say("The journal has no calls to try these rules on.")
        return
    began = datetime.fromtimestamp(found.since).astimezone()
    say(f"{count_of(found.calls, 'call')} of {count_of(found.runs, 'run')} since {began:%Y-%m-%d %H:%M}")
    for action in (DENIED, ASKED, LIMITED):
        say(f"  {action:<8} today {found.before[action]}, then {found.after[action]}")
    if not found.changes:
        say("No call would be treated differently.")
        return
    headings = ("calls", "tool", "client", "today", "then")
    rows = [
        (str(count), row.tool, row.client or "command line", word_verdict(row.before), word_verdict(row.after))
        for row, count in found.changes.most_common()
    ]
    say("")
    say_table(rows, _WIDTHS, headings)


def _described(found: Rehearsed) -> dict[str, object]:
    changes = [
        {
            "calls": count,
            "tool": row.tool,
            "client": row.client,
            "today": row.before._asdict(),
            "then": row.after._asdict(),
        }
        for row, count in found.changes.most_common()
    ]
    totals = {
        name: {action: counts[action] for action in (DENIED, ASKED, LIMITED)}
        for name, counts in (("today", found.before), ("then", found.after))
    }
    return {
        "calls": found.calls,
        "runs": found.runs,
        "unreadable": found.unreadable,
        "since": found.since,
        **totals,
        "changes": changes,
    }


def _typed(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Let argparse report why it does not take a word."""

    def parse(text: str) -> Value:
        try:
            return read(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error

    return parse
