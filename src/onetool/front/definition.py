"""The description of this server for clients: instructions, and the definitions of its tools; nothing of the SDK."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_core.json_types import Json, JsonObject
from ot.run.answer import DESCRIPTION, LOOK_DESCRIPTION

if TYPE_CHECKING:
    from ot.app import App
    from ot.config.mistakes import Mistake

NAME = "onetool"
RUN, LOOK = "run", "look"
TITLES = {RUN: "Run Python", LOOK: "Look with Python"}
HINTS: dict[str, JsonObject] = {
    RUN: {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    LOOK: {"readOnlyHint": True, "openWorldHint": True},
}
INSTRUCTIONS = "One tool, `run`, reaches every tool of this person from Python. Start with `ot.help()`."
LOOK_INSTRUCTIONS = "`look` is the same tool for reading only."
CAPABILITIES: JsonObject = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}
RESULT_TEMPLATE: JsonObject = {
    "uriTemplate": "onetool://results/{handle}",
    "name": "results",
    "title": "Stored results and kept values",
    "description": "A result that was too long for an answer, by its handle, or a kept value, by its name",
}
TASKS = "io.modelcontextprotocol/tasks"
EXTENSIONS: JsonObject = {TASKS: {}}  # for clients without a session
_PARAMETER = "\n\n- `command` (string, required): Python code"
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"command": {"description": "Python code", "title": "Command", "type": "string"}},
    "required": ["command"],
}
_MOST_NAMES = 10  # of what is off
_LONGEST_NAME = 60


def final_names(*, look: bool) -> dict[str, str]:
    """Return which tool clients mean by which name: with the prefix that the environment asks for."""
    prefix = os.environ.get("MCP_TOOL_PREFIX")
    return {f"{prefix}_{tool}" if prefix else tool: tool for tool in ((RUN, LOOK) if look else (RUN,))}


def instruct(mistakes: Sequence[Mistake], *, look: bool = False) -> str:
    """Word the instructions; they name what mistakes in the configuration keep off."""
    instructions = f"{INSTRUCTIONS} {LOOK_INSTRUCTIONS}" if look else INSTRUCTIONS
    off = list(dict.fromkeys(".".join(mistake.entry)[:_LONGEST_NAME] for mistake in mistakes))
    if not off:
        return instructions
    more = f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else ""
    names = ", ".join(off[:_MOST_NAMES]) + more
    return f"{instructions} Mistakes in the configuration keep this off, as ot.health() explains: {names}."


def define_tools(names: Mapping[str, str], offer: str) -> list[Json]:
    """Return the definitions of the tools; the description of `run` ends with what it offers at this moment."""
    return [
        {**_definition(name, tool, offer), "title": TITLES[tool], "annotations": HINTS[tool]}
        for name, tool in names.items()
    ]


def with_offer(tool: str, description: str, offer: str) -> str:
    return f"{description}\n\n{offer}" if tool == RUN and offer else description


def own_definition(*, look: bool = False) -> str:
    """Return what a client puts into its context for us: the instructions, and the definitions of our tools."""
    tools = [json.dumps(_definition(tool, tool, "")) for tool in ((RUN, LOOK) if look else (RUN,))]
    return "\n".join([instruct((), look=look), *tools])


def _definition(name: str, tool: str, offer: str) -> JsonObject:
    words = (DESCRIPTION if tool == RUN else LOOK_DESCRIPTION) + _PARAMETER
    schema: JsonObject = {**_SCHEMA, "title": f"{tool}Arguments"}
    return {"name": name, "description": with_offer(tool, words, offer), "inputSchema": schema}


def word_offer(app: App) -> str:
    settings = app.runner.settings
    limit = f"A run may take {settings.timeout:g} s"
    if settings.patience:
        limit += f"; after {settings.patience:g} s you get its id, and its answer from `ot.wait`"
    return f"{app.registry.word_packs()} {limit}."
