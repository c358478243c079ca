"""`onetool policy try`: what other rules would have done to the calls of the journal."""

from __future__ import annotations

import json
import re
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import anyio

from onetool.cli import OK, USAGE
from onetool.cli.definitions import read_registry
from onetool.cli.printing import add_json_argument, fail, say, say_json, say_table
from onetool.cli.start import load
from onetool.console.clean_text import count_of
from ot.config.documents import parse_document, read_document
from ot.config.loader import LoadedConfig
from ot.config.models import PolicySettings
from ot.config.reading import SettingsError
from ot.execution.rehearsal import ASKED, DENIED, Rehearsed, Verdict, rehearse
from ot.journal.journal import Journal, open_journal
from ot.journal.recorded import RecordedCall
from ot.parts.stores import open_own_store
from ot.values import Arguments
from ot_kernel.values import decode_fields

EPILOG = (
    "Nothing is called, and nobody is asked. The calls are those of this project's runs that the journal still has "
    "(journal.keep_for); a client is taken to be all runs of its name. A rule may be a pattern or a mapping: "
    "--ask '{tool: mail.send, where: {to: \"not *@ours.example\"}}'."
)
_UNITS = {"h": 3600.0, "d": 86400.0}
_WIDTHS = (6, 40, 24, 70, 70)  # characters at most


def add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    trying = actions.add_parser("try", help="show which calls of the past other rules would treat differently")
    trying.add_argument("file", metavar="FILE", nargs="?", type=Path, help="take the rules of this file, not today's")
    trying.add_argument("--ask", metavar="RULE", action="append", default=[], help="add a rule to policy.ask")
    trying.add_argument("--deny", metavar="RULE", action="append", default=[], help="add a rule to policy.deny")
    trying.add_argument(
        "--flow", metavar="FROM>TO", action="append", default=[], type=_read_flow, help="add a rule to policy.flows"
    )
    trying.add_argument("--since", metavar="TIME", type=_read_since, help="only calls since then: 12h, 7d, 2026-11-30")
    add_json_argument(trying)


def main(options: Namespace) -> int:
    loaded = load(options)
    try:
        after = _rules(options, loaded.config.policy)
    except SettingsError as error:
        return fail(f"onetool policy: {error}", USAGE)
    with open_own_store(loaded) as store:
        found = anyio.run(_rehearse, loaded, open_journal(loaded, store), after, options.since or 0.0)
    if options.json:
        say_json(_described(found))
    else:
        _show(found)
    return OK


def _rules(options: Namespace, today: PolicySettings) -> PolicySettings:
    """Return the rules to try; raises SettingsError."""
    base = today
    if options.file is not None:
        document = read_document(options.file)
        base = PolicySettings.model_validate(document.get("policy"))
    added = {
        "ask": [_parsed(text) for text in options.ask],
        "deny": [_parsed(text) for text in options.deny],
        "flows": [{"from": [origin], "to": [target]} for origin, target in options.flow],
    }
    read = PolicySettings.model_validate(added)
    update = {key: (*getattr(base, key), *getattr(read, key)) for key in added}
    return base.model_copy(update=update)


def _parsed(text: str) -> object:
    """Return a rule as the configuration would have it: text, or a mapping."""
    if not text.lstrip().startswith("{"):
        return text
    return parse_document(f"rule: {text}".encode(), Path("--ask or --deny"))["rule"]


async def _rehearse(loaded: LoadedConfig, journal: Journal, after: PolicySettings, since: float) -> Rehearsed:
    registry = read_registry(loaded)

    def names_of(tool: str) -> tuple[str, ...]:
        return registry.get(tool).all_names if registry.has(tool) else (tool,)

    def arguments_of(call: RecordedCall) -> Arguments:
        """Return what is still known of the arguments; a rule takes what is missing for what it means."""
        try:
            at = call.arguments_at
            found = decode_fields(call.arguments if at is None else json.loads(journal.store.fetch(at)))
        except (OSError, ValueError):
            return {}
        return {str(name): value for name, value in found.items()} if isinstance(found, Mapping) else {}

    recent = [run for run in journal.recent(loaded.principal) if run.time >= since]
    runs = (journal.find(loaded.principal, run.id, ended=False) for run in recent)
    return await rehearse(runs, loaded.config.policy, after, names_of=names_of, arguments_of=arguments_of)


def _show(found: Rehearsed) -> None:
    if not found.calls:
        say("The journal has no calls to try these rules on.")
        return
    began = datetime.fromtimestamp(found.since).astimezone()
    say(f"{count_of(found.calls, 'call')} of {count_of(found.runs, 'run')} since {began:%Y-%m-%d %H:%M}")
    for action in (DENIED, ASKED):
        say(f"  {action:<7} today {found.before[action]}, then {found.after[action]}")
    if not found.changes:
        say("No call would be treated differently.")
        return
    headings = ("calls", "tool", "client", "today", "then")
    rows = [
        (str(count), row.tool, row.client, _word(row.before), _word(row.after))
        for row, count in found.changes.most_common()
    ]
    say("")
    say_table(rows, _WIDTHS, headings)


def _word(verdict: Verdict) -> str:
    return f"{verdict.action}: {verdict.rule}" if verdict.action else "passes"


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
        name: {action: counts[action] for action in (DENIED, ASKED)}
        for name, counts in (("today", found.before), ("then", found.after))
    }
    return {"calls": found.calls, "runs": found.runs, "since": found.since, **totals, "changes": changes}


def _read_flow(text: str) -> tuple[str, str]:
    origin, mark, target = (part.strip() for part in text.partition(">"))
    if not (origin and mark and target):
        raise ArgumentTypeError(f"{text!r} does not have the form FROM>TO; write, for example, 'web.*>mail.*'")
    return origin, target


def _read_since(text: str) -> float:
    if found := re.fullmatch(r"(\d+)([hd])", text):
        return time.time() - int(found[1]) * _UNITS[found[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(f"{text!r} is not a date or time; write, for example, 12h, 7d or 2026-11-30") from error
