"""The things of a person that depend on a server's tools: skills, snippets, aliases, rules, and runs in the journal."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from onetool.cli.definitions import read_skills
from ot.clients.person import LOCAL
from ot.config.loader import LoadedConfig
from ot.config.models import PolicySettings
from ot.journal.journal import open_journal
from ot.parts.stores import open_own_store

_MOST_RUNS = 5


def find_dependents(loaded: LoadedConfig, tools: Collection[str]) -> Iterator[str]:
    """Yield a line for each thing that names one of these tools, which are written as in code."""
    if not tools:
        return
    named = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(tools)))})(?!\w)")
    texts = [(f"the skill {skill.name}", skill.text) for skill in read_skills(loaded).skills()]
    texts += [(f"the snippet ${name}", snippet.body) for name, snippet in loaded.config.snippets.items()]
    texts += [(f"the alias {name} ({target})", target) for name, target in loaded.config.aliases.items()]
    yield from (label for label, text in texts if named.search(text))
    for rule, patterns in _rules(loaded.config.policy):
        if any(fnmatchcase(tool, pattern) for tool in tools for pattern in patterns):
            yield rule
    with open_own_store(loaded) as store:
        runs = [run.id for run in open_journal(loaded, store).recent(LOCAL) if named.search(run.command)]
    if runs:
        more = f" and {len(runs) - _MOST_RUNS} more" if len(runs) > _MOST_RUNS else ""
        yield f"runs in the journal, which would be resumed differently: {', '.join(runs[-_MOST_RUNS:])}{more}"


def _rules(policy: PolicySettings) -> Iterator[tuple[str, list[str]]]:
    """Yield each rule as it is shown, with its patterns of tools."""
    for kind, rules in (("deny", policy.deny), ("ask", policy.ask)):
        yield from ((f"policy.{kind}: {rule}", [rule.tool]) for rule in rules)
    yield from ((f"policy.allow: {pattern}", [pattern]) for pattern in policy.allow)
    for flow in policy.flows:
        yield f"policy.flows: {flow.label}", [*flow.origins, *(rule.tool for rule in flow.to)]
