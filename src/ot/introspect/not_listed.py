"""Notes below a listing about what it leaves out, and the marks of tools that the policy refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mcp_core.quick_dataclass import replace
from ot.clients.caller import Caller
from ot.config.models import GrantedPolicy, PolicySettings
from ot.context import CallContext
from ot.errors import CallError, ConsentError, NotGrantedError, ToolDeniedError
from ot.execution.policy import foresee_refusal
from ot.execution.rules import build_guard
from ot.execution.wording import word_error
from ot.introspect.listings import contains
from ot.proxy import Servers
from ot.registry.definitions import ToolDefinition
from ot.registry.registry import ToolRegistry

MarkTool = Callable[[ToolDefinition], ToolDefinition]
"""Returns a tool as it is shown: one that is refused says so first."""

_WORDS: dict[type[CallError], str] = {
    ToolDeniedError: "(Denied here by policy.deny.) ",
    NotGrantedError: "(Denied here: ask an administrator to grant it to one of your groups.) ",
    ConsentError: "(Cannot be called here: policy.ask names it, and nobody can be asked.) ",
}


def marking(policy: PolicySettings, caller: Caller) -> MarkTool:
    """Build the marks of what one caller is refused."""
    only_granted = policy.only_granted if isinstance(policy, GrantedPolicy) else ()
    if not policy.deny and not policy.ask and not only_granted:
        return lambda tool: tool

    def mark(tool: ToolDefinition) -> ToolDefinition:
        refusal = foresee_refusal(build_guard(tool.all_names, policy), caller)
        return tool if refusal is None else _put_before(tool, _WORDS[type(refusal)])

    return mark


def mark_off(tool: ToolDefinition) -> ToolDefinition:
    """Return a tool of a pack that is switched off as it is shown: it says so first, and what switches it on."""
    return _put_before(tool, f"(Switched off here; a person can switch it on: packs.{tool.pack}.enabled: true.) ")


def _put_before(tool: ToolDefinition, words: str) -> ToolDefinition:
    repeated = " ".join(tool.docs.body.split()).startswith(tool.description.rstrip("…"))
    docs = replace(tool.docs, body=f"{words}{tool.docs.body}") if repeated else tool.docs
    return replace(tool, description=f"{words}{tool.description}", docs=docs)


Concerns = Callable[[str], bool]
"""True if a pack of this name, of which nothing else is known, could be in a listing."""

_MOST_NAMES = 10


async def wait_for_servers(context: CallContext, concerns: Concerns) -> None:
    """Wait for what a listing could show, up to `servers.*.listing_timeout`; its clock stands still meanwhile."""
    with context.held():
        unlisted = await context.part(Servers).catch_up_listing(concerns)
    if unlisted.connecting:
        context.note(f"[Still connecting, so not listed yet: {_enumerate(unlisted.connecting)}.]")
    if unlisted.failed:
        context.note(f"[Not connected, so not listed: {_enumerate(unlisted.failed)}. ot.health() says why.]")


def note_refused(context: CallContext, pattern: str) -> None:
    """Name the tools that the policy refuses, in a listing of names; where they are described, that says so."""
    mark = marking(context.settings.policy, context.caller)
    listed = (tool for tool in context.registry.definitions() if contains(tool.name, pattern))
    names = [tool.name for tool in listed if mark(tool) is not tool]
    if names:
        context.note(f"[Refused here by the policy: {_enumerate(names)}.]")


def _enumerate(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def note_switched_off(context: CallContext, pattern: str) -> None:
    """Say how to switch on what the pattern of a listing names; a listing of everything does not mention it."""
    pack, dot, _ = pattern.casefold().partition(".")
    registry = context.registry
    for name in registry.switched_off() if pack else ():
        is_named = name.casefold().endswith(pack) if dot else contains(name, pack)
        if is_named and (absence := registry.absence(name)) is not None:
            context.note(f"[{word_error(absence)}]")


def concerns_tools(pattern: str, registry: ToolRegistry) -> Concerns:
    """Judge packs by a part of their tools' full names; one that names a known pack is about that pack."""
    pack, dot, tool = pattern.casefold().partition(".")
    if dot:
        return lambda name: name.casefold().endswith(pack) and "." not in tool
    known = (name for name in registry.pack_names() if registry.absence(name) is None)
    if pattern and any(contains(name, pattern) for name in known):
        return lambda name: contains(name, pattern)
    return lambda _: True


def concerns_packs(pattern: str) -> Concerns:
    return lambda name: contains(name, pattern)


def concerns_help(
    queries: Iterable[str], registry: ToolRegistry, aliases: Mapping[str, str], snippets: Iterable[str]
) -> Concerns:
    """Judge packs by what is asked; a query that is a pack's name concerns only that pack."""
    names = {*registry.pack_names(), *aliases, *(f"${name}" for name in snippets)}
    asked = [query.strip().partition(".")[0] for query in queries]
    if not asked or not all(query in names for query in asked):
        return lambda _: True
    return lambda name: name in asked
