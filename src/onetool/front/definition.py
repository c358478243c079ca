"""The description of this server for clients: instructions, and the definitions of its tools; nothing of the SDK."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_core.json_types import Json, JsonObject, mapping_of
from ot.clients.front import VIEWS
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
VIEW = "view"
"""The tool by which the view of an answer asks for more; no model is told of it."""
ANSWER_URI = "ui://onetool/answer"
SHOWN: JsonObject = {"ui": {"resourceUri": ANSWER_URI, "visibility": ["model"]}}
"""Tells clients that show views that the answers of our tools have one."""
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


def view_name() -> str:
    """Return the name of the tool of views, as clients know it."""
    prefix = os.environ.get("MCP_TOOL_PREFIX")
    return f"{prefix}_{VIEW}" if prefix else VIEW


def instruct(mistakes: Sequence[Mistake], *, look: bool = False) -> str:
    """Word the instructions; they name what mistakes in the configuration keep off."""
    instructions = f"{INSTRUCTIONS} {LOOK_INSTRUCTIONS}" if look else INSTRUCTIONS
    off = list(dict.fromkeys(".".join(mistake.entry)[:_LONGEST_NAME] for mistake in mistakes))
    if not off:
        return instructions
    more = f" and {len(off) - _MOST_NAMES} more" if len(off) > _MOST_NAMES else ""
    names = ", ".join(off[:_MOST_NAMES]) + more
    return f"{instructions} Mistakes in the configuration keep this off, as ot.health() explains: {names}."


def define_tools(names: Mapping[str, str], offer: str, *, shows: bool = False) -> list[Json]:
    """Return the definitions of the tools; the description of `run` ends with what it offers at this moment.

    A client that `shows` views is told of that of an answer.
    """
    shown: JsonObject = {"_meta": SHOWN} if shows else {}
    tools: list[Json] = [
        {**_definition(name, tool, offer), "title": TITLES[tool], "annotations": HINTS[tool], **shown}
        for name, tool in names.items()
    ]
    return [*tools, define_view()] if shows else tools


def define_view() -> JsonObject:
    """Return the definition of the tool of views."""
    texts: JsonObject = {name: {"type": "string"} for name in ("handle", "ask")}
    return {
        "name": view_name(),
        "title": "The view of an answer",
        "description": "What the view of an answer asks for, by the handle that came with that answer.",
        "inputSchema": {
            "type": "object",
            "properties": {**texts, "options": {"type": "object"}},
            "required": [*texts],
        },
        "annotations": HINTS[RUN],
        "_meta": {"ui": {"visibility": ["app"]}},
    }


def with_views(capabilities: JsonObject) -> JsonObject:
    """Return our capabilities for a client that shows views."""
    return {**capabilities, "extensions": {**mapping_of(capabilities.get("extensions")), VIEWS: {}}}


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
