"""The caller of everything that a person does outside an MCP client: at a terminal, or on the dashboard."""

from __future__ import annotations

from ot.clients.caller import Ask, Caller, ClientMemory, Notes, Progress
from ot.clients.person import LOCAL


def make_caller(
    client: str = "",
    *,
    principal: str = LOCAL,
    ask: Ask | None = None,
    progress: Progress | None = None,
    notes: Notes | None = None,
    memory: ClientMemory | None = None,
) -> Caller:
    """Return a caller that is recorded as `client`; by default the person of this machine at a command line."""
    memory = ClientMemory() if memory is None else memory
    return Caller(client=client, principal=principal, ask=ask, progress=progress, notes=notes, memory=memory)
