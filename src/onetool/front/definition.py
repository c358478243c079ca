"""The description of this server for clients: instructions, and the definition of `run`; nothing of the SDK."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_core.json_types import JsonObject
from ot.run.answer import DESCRIPTION

if TYPE_CHECKING:
    from ot.app import App
    from ot.config.mistakes import Mistake

NAME = "onetool"
INSTRUCTIONS = "One tool, `run`, reaches every tool of this person from Python. Start with `ot.help()`."
CAPABILITIES: JsonObject = {"logging": {}, "tools": {"listChanged": True}}
_PARAMETER = "\n\n- `command` (string, required): Python code"
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"command": {"description": "Python code", "title": "Command", "type": "string"}},
    "required": ["command"],
    "title": "runArguments",
}
_MOST_NAMES = 10  # of what is off
_LONGEST_NAME = 60


def final_name() -> str:
    """Return the name under which clients know `run`: with the prefix that the environment asks for."""
    prefix = os.environ.get("MCP_TOOL_PREFIX")
    return f"{prefix}_run" if prefix else "run"


def instruct(mistakes: Sequence[Mistake]) -> str:
    """Word the instructions; they name what mistakes in the configuration keep off."""
    off = list(dict.fromkeys(".".join(mistake.entry)[:_LONGEST_NAME] for mistake in mistakes))
    if not off:
        return INSTRUCTIONS
    more = f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else ""
    names = ", ".join(off[:_MOST_NAMES]) + more
    return f"{INSTRUCTIONS} Mistakes in the configuration keep this off, as ot.health() explains: {names}."


def define_tool(name: str, offer: str) -> JsonObject:
    """Return the definition of `run`, whose description ends with what it offers at this moment."""
    return {"name": name, "description": f"{DESCRIPTION}{_PARAMETER}\n\n{offer}", "inputSchema": _SCHEMA}


def own_definition() -> str:
    """Return what a client puts into its context for us: the instructions, and the definition of `run`."""
    tool = {"name": "run", "description": DESCRIPTION + _PARAMETER, "inputSchema": _SCHEMA}
    return f"{INSTRUCTIONS}\n{json.dumps(tool)}"


def word_offer(app: App) -> str:
    settings = app.runner.settings
    limit = f"A run may take {settings.timeout:g} s"
    if settings.patience:
        limit += f"; after {settings.patience:g} s you get its id, and its answer from `ot.wait`"
    return f"{app.registry.word_packs()} {limit}."
