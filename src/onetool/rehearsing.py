"""Rules to try on the calls of the journal, as a person writes them for `onetool policy try` or on the dashboard."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.config.documents import parse_document
from ot.config.models import Config, PolicySettings, with_strangers
from ot.errors import RunNotResumableError, UnknownRunError
from ot.execution.rehearsal import Rehearsed, Verdict, rehearse
from ot.journal.journal import Journal
from ot.journal.recorded import RecordedCall
from ot.registry.registry import ToolRegistry
from ot.values import Arguments
from ot_kernel.values import decode_fields

_UNITS = {"h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class TriedRules:
    """Rules to add to those of a configuration, or to others that stand in its place; each as it was written."""

    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    flows: Sequence[tuple[str, str]] = ()
    instead: Mapping[object, object] | None = None  # the content of a configuration file

    def join(self, config: Config) -> PolicySettings:
        """Return the rules to try; raises SettingsError and ConfigError."""
        base = config.policy if self.instead is None else PolicySettings.model_validate(self.instead.get("policy"))
        added = {
            "ask": [_parsed(text) for text in self.ask],
            "deny": [_parsed(text) for text in self.deny],
            "flows": [{"from": [origin], "to": [target]} for origin, target in self.flows],
        }
        read = PolicySettings.model_validate(added)
        rules = base.model_copy(update={key: (*getattr(base, key), *getattr(read, key)) for key in added})
        return with_strangers(config.model_copy(update={"policy": rules})).policy


def _parsed(text: str) -> object:
    """Return a rule as the configuration would have it: text, or a mapping."""
    if not text.lstrip().startswith("{"):
        return text
    return parse_document(f"rule: {text}".encode(), Path("rule"))["rule"]


def read_flow(text: str) -> tuple[str, str]:
    """Read a flow such as `web.*>mail.*`; raises ValueError."""
    origin, mark, target = (part.strip() for part in text.partition(">"))
    if not (origin and mark and target):
        raise ValueError(f"{text!r} does not have the form FROM>TO; write, for example, 'web.*>mail.*'")
    return origin, target


def read_since(text: str) -> float:
    """Read a time such as 12h, 7d or 2026-11-30; raises ValueError."""
    if found := re.fullmatch(r"(\d+)([hd])", text):
        return time.time() - int(found[1]) * _UNITS[found[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date or time; write, for example, 12h, 7d or 2026-11-30") from error


def rehearse_journal(
    journal: Journal,
    principal: str,
    registry: ToolRegistry,
    before: PolicySettings,
    after: PolicySettings,
    since: float,
) -> Rehearsed:
    """Try rules on the runs of a principal that began since a time; blocking, on any thread."""

    def names_of(tool: str) -> tuple[str, ...]:
        return registry.get(tool).all_names if registry.has(tool) else (tool,)

    runs, unreadable = [], 0
    for run in journal.recent(principal):
        if run.time < since:
            continue
        try:
            runs.append(journal.find(principal, run.id, ended=False))
        except (RunNotResumableError, UnknownRunError):
            unreadable += 1
    try_rules = partial(rehearse, names_of=names_of, arguments_of=_arguments_in(journal))
    found = anyio.run(try_rules, runs, before, after)
    found.unreadable = unreadable
    return found


def _arguments_in(journal: Journal) -> Callable[[RecordedCall], Arguments]:
    """Return what tells what is still known of arguments; a rule takes what is missing for what it means."""

    def arguments_of(call: RecordedCall) -> Arguments:
        try:
            at = call.arguments_at
            found = decode_fields(call.arguments if at is None else json.loads(journal.store.fetch(at)))
        except (OSError, ValueError):
            return {}
        return {str(name): value for name, value in found.items()} if isinstance(found, Mapping) else {}

    return arguments_of


def word_verdict(verdict: Verdict) -> str:
    return f"{verdict.action}: {verdict.rule}" if verdict.action else "passes"
