"""Policy rules that match nothing: a misspelt rule guards nothing, and would go unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from mcp_core.nearest_names import nearest
from ot.config.models import PolicySettings
from ot.registry.names import identifier
from ot.registry.registry import ToolRegistry


def find_idle_rules(policy: PolicySettings, registry: ToolRegistry, servers: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each rule that fits no tool and, as far as can be known, never will.

    What a server offers may not be known yet, and what it has beside tools is known only to itself: any rule for a
    configured server, or for a pack that is absent or switched off, is taken to mean something.
    """
    tools = [name for tool in registry.definitions() for name in tool.all_names]
    absent = {*registry.pack_names()} - {pack.name for pack in registry.packs()}
    unjudged = {*absent, *servers, *(identifier(name, fallback="server") for name in servers)}
    known = [*tools, *(f"{pack}.*" for pack in {name.partition(".")[0] for name in tools} | unjudged)]
    for key, rule in _rules(policy):
        pack = rule.partition(".")[0]
        if any(fnmatchcase(name, rule) for name in tools) or any(fnmatchcase(name, pack) for name in unjudged):
            continue
        yield f'{key}: "{rule}" matches no tool, so it has no effect; the nearest name is "{nearest(rule, known)[0]}"'


def _rules(policy: PolicySettings) -> Iterator[tuple[str, str]]:
    for key, rules in (("deny", policy.deny), ("ask", policy.ask), ("allow", policy.allow)):
        yield from ((f"policy.{key}", rule) for rule in rules)
    for number, flow in enumerate(policy.flows):
        yield from ((f"policy.flows.{number}.from", rule) for rule in flow.origins)
        yield from ((f"policy.flows.{number}.to", rule) for rule in flow.to)
