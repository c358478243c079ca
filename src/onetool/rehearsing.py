"""Rules to try on the calls of the journal, as a person writes them for `onetool policy try` or on the dashboard."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio

from mcp_core.quick_dataclass import dataclass
from ot.config.documents import parse_document
from ot.config.loader import LoadedConfig
from ot.config.models import PolicySettings, with_strangers
from ot.config.team import LimitSettings, TeamLimits
from ot.errors import RunNotResumableError, UnknownRunError
from ot.execution.rehearsal import Rehearsed, Rules, Verdict, rehearse
from ot.journal.journal import Journal
from ot.journal.recorded import RecordedCall
from ot.registry.registry import ToolRegistry
from ot.store.quotas import CALLS, RUNNING, RUNS
from ot.values import Arguments
from ot_kernel.values import decode_fields

_LIMITS = (CALLS, RUNS, RUNNING)
_UNITS = {"h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class TriedRules:
    """Rules to add to those of a configuration, or to others that stand in its place; each as it was written."""

    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    flows: Sequence[tuple[str, str]] = ()
    limits: Sequence[tuple[str, int]] = ()
    instead: Mapping[object, object] | None = None  # the content of a configuration file

    def join(self, loaded: LoadedConfig, groups: Collection[str] = ()) -> Rules:
        """Return the rules to try, as they would be for somebody in these groups; raises SettingsError, ConfigError."""
        config, today = loaded.config, rules_of(loaded)
        limits = today.limits if self.instead is None else _read_limits(self.instead).of(groups)
        given = LimitSettings.model_validate(dict(self.limits))
        limits = limits.model_copy(update={key: getattr(given, key) for key, _ in self.limits})
        base = config.policy if self.instead is None else PolicySettings.model_validate(self.instead.get("policy"))
        added = {
            "ask": [_parsed(text) for text in self.ask],
            "deny": [_parsed(text) for text in self.deny],
            "flows": [{"from": [origin], "to": [target]} for origin, target in self.flows],
        }
        read = PolicySettings.model_validate(added)
        rules = base.model_copy(update={key: (*getattr(base, key), *getattr(read, key)) for key in added})
        return Rules(with_strangers(config.model_copy(update={"policy": rules})).policy, limits)


def rules_of(loaded: LoadedConfig) -> Rules:
    """Return the rules of today; limits are for people of a server that many share."""
    return Rules(loaded.config.policy, LimitSettings() if loaded.administrator is None else loaded.config.limits)


def _read_limits(content: Mapping[object, object]) -> TeamLimits:
    return TeamLimits.model_validate(content.get("limits"))


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


def read_limit(text: str) -> tuple[str, int]:
    """Read a limit such as `calls_per_minute=60`; raises ValueError."""
    key, _, number = (part.strip() for part in text.partition("="))
    if key not in _LIMITS or not number.isdecimal():
        raise ValueError(f"{text!r} does not have the form KEY=NUMBER, KEY being {', '.join(_LIMITS)}")
    return key, int(number)


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
    before: Rules,
    after: Rules,
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
