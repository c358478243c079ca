"""Rules of the configuration that name tools, such as `files.*`, and those that match none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from mcp_core.nearest_names import nearest
from ot.config.call_rules import CallRule
from ot.config.models import BY_VALUE, FlowSettings, GrantedPolicy, PolicySettings
from ot.registry.names import identifier
from ot.registry.registry import ToolRegistry


def first_rule(names: Sequence[str], rules: Iterable[str]) -> str | None:
    """Return the first rule that fits any of the names."""
    return next((rule for rule in rules if any(fnmatchcase(name, rule) for name in names)), None)


class GuardedFlow(NamedTuple):
    """A flow that ends at a tool, and the rule by which it does; `rule` is None if every call of the tool counts."""

    flow: FlowSettings
    rule: CallRule | None


class Guard(NamedTuple):
    """All that the policy says about one thing that can be called or read, by all of its names."""

    names: tuple[str, ...]  # its own first
    denied_by: str | None
    asked_by: str | None
    allowed_by: str | None
    guarded: bool  # what it gives may not flow everywhere
    flows: tuple[GuardedFlow, ...]  # that end here
    brings: bool = False  # what it gives is remembered by value
    withheld: bool = False  # it is there for groups that are granted it, and the person is in none
    denied_if: tuple[CallRule, ...] = ()  # rules that act by the arguments, or by the number of calls
    asked_if: tuple[CallRule, ...] = ()

    @property
    def refused(self) -> bool:
        """True if nobody may have it here."""
        return self.denied_by is not None or self.withheld

    @property
    def by_value(self) -> bool:
        """True if a rule for it looks at what its arguments carry."""
        return any(flow.by == BY_VALUE for flow, _ in self.flows)

    @property
    def simple(self) -> bool:
        return self.asked_by is None and not (self.guarded or self.flows or self.denied_if or self.asked_if)


def build_guard(names: tuple[str, ...], policy: PolicySettings) -> Guard:
    own = {names[0], names[0].partition(".")[0]}
    return Guard(
        names,
        first_rule(names, (rule.tool for rule in policy.deny if rule.always)),
        first_rule(names, (rule.tool for rule in policy.ask if rule.always)),
        first_rule(names, policy.allow),
        any(first_rule(names, flow.origins) for flow in policy.flows),
        tuple(flow for settings in policy.flows for flow in _flows_to(names, settings)),
        any(flow.by == BY_VALUE and first_rule(names, flow.origins) for flow in policy.flows),
        isinstance(policy, GrantedPolicy)
        and not own.isdisjoint(policy.only_granted)
        and first_rule(names, policy.granted) is None,
        _conditional(names, policy.deny),
        _conditional(names, policy.ask),
    )


def _conditional(names: tuple[str, ...], rules: Iterable[CallRule]) -> tuple[CallRule, ...]:
    return tuple(rule for rule in rules if not rule.always and first_rule(names, (rule.tool,)))


def _flows_to(names: tuple[str, ...], flow: FlowSettings) -> Iterator[GuardedFlow]:
    if first_rule(names, (rule.tool for rule in flow.to if rule.always)):
        yield GuardedFlow(flow, None)
    else:
        yield from (GuardedFlow(flow, rule) for rule in _conditional(names, flow.to))


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
    for key, rules in (("deny", policy.deny), ("ask", policy.ask)):
        yield from ((f"policy.{key}", rule.tool) for rule in rules)
    yield from (("policy.allow", rule) for rule in policy.allow)
    for number, flow in enumerate(policy.flows):
        yield from ((f"policy.flows.{number}.from", rule) for rule in flow.origins)
        yield from ((f"policy.flows.{number}.to", rule.tool) for rule in flow.to)
