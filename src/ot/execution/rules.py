"""Rules of the configuration that name tools, such as `files.*`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ot.config.models import FlowSettings, GrantedPolicy, PolicySettings


def first_rule(names: Sequence[str], rules: Iterable[str]) -> str | None:
    """Return the first rule that fits any of the names."""
    return next((rule for rule in rules if any(fnmatchcase(name, rule) for name in names)), None)


class Guard(NamedTuple):
    """All that the policy says about one thing that can be called or read, by all of its names."""

    names: tuple[str, ...]  # its own first
    denied_by: str | None
    asked_by: str | None
    allowed_by: str | None
    guarded: bool  # what it gives may not flow everywhere
    flows: tuple[FlowSettings, ...]  # that end here
    withheld: bool = False  # it is there for groups that are granted it, and the person is in none

    @property
    def refused(self) -> bool:
        """True if nobody may have it here."""
        return self.denied_by is not None or self.withheld

    @property
    def simple(self) -> bool:
        """True if there is nothing to ask and nothing to remember."""
        return self.asked_by is None and not self.guarded and not self.flows


def build_guard(names: tuple[str, ...], policy: PolicySettings) -> Guard:
    """Find the rules that name something."""
    return Guard(
        names,
        first_rule(names, policy.deny),
        first_rule(names, policy.ask),
        first_rule(names, policy.allow),
        any(first_rule(names, flow.origins) for flow in policy.flows),
        tuple(flow for flow in policy.flows if first_rule(names, flow.to)),
        _is_withheld(names, policy),
    )


def _is_withheld(names: tuple[str, ...], policy: PolicySettings) -> bool:
    if not isinstance(policy, GrantedPolicy) or {names[0], names[0].partition(".")[0]}.isdisjoint(policy.only_granted):
        return False
    return first_rule(names, policy.granted) is None
