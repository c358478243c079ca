"""Tools that the policy refuses, whatever they are called with: marked where they are described."""

from __future__ import annotations

from collections.abc import Callable

from mcp_core.quick_dataclass import replace
from ot.clients.caller import Caller
from ot.config.models import GrantedPolicy, PolicySettings
from ot.errors import CallError, ConsentError, NotGrantedError, ToolDeniedError
from ot.execution.policy import foresee_refusal
from ot.execution.rules import build_guard
from ot.registry.definitions import ToolDefinition

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
        if refusal is None:
            return tool
        words = _WORDS[type(refusal)]
        repeated = " ".join(tool.docs.body.split()).startswith(tool.description.rstrip("…"))
        docs = replace(tool.docs, body=f"{words}{tool.docs.body}") if repeated else tool.docs
        return replace(tool, description=f"{words}{tool.description}", docs=docs)

    return mark
