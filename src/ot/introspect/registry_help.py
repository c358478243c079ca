"""Servers that the MCP registry has for what no tool does: how many, and never a word of theirs.

Only where the person has switched it on (`registry.suggest`), because words of the request are sent there. A model
cannot add one: what adds a server is a command that shows it to a person and asks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio

from ot.config.models import Config
from ot.services.mcp_registry import BringingError, McpRegistry

_PATIENCE = 5.0  # seconds for all questions together
_MOST_WORDS = 3
_WORD = re.compile(r"[a-z]{4,20}")
_COMMON = frozenset(
    {"from", "with", "that", "this", "find", "list", "read", "show", "send", "make", "into", "some", "what"}
)


async def suggest_servers(config: Config, queries: Sequence[str]) -> str:
    """Return lines with the number of servers that have a word of these queries in their name; empty for none."""
    words = [word for query in queries for word in _WORD.findall(query.casefold()) if word not in _COMMON]
    registry, lines = McpRegistry(config.registry.url), []
    with anyio.move_on_after(_PATIENCE):
        for word in [*dict.fromkeys(words)][:_MOST_WORDS]:
            try:
                count = len(await registry.search(word))
            except BringingError:
                break  # it is only a hint
            if count:
                servers = "a server" if count == 1 else f"{count} servers"
                lines.append(f"- {servers} for {word!r}: a person can look at them with `onetool add {word}`")
    heading = "The MCP registry has servers by that name. You cannot add one, and should not try; tell the person:"
    return "\n".join([heading, *lines]) if lines else ""
