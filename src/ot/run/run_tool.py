"""`onetool.run`: running code as a tool, for AI clients that reach everything through the executor."""

from __future__ import annotations

from mcp_core.json_types import JsonObject
from mcp_core.quick_dataclass import replace
from ot.clients.caller import NOBODY
from ot.config.values import RUN_TOOL
from ot.context import current
from ot.errors import ToolError
from ot.registry.definitions import Cancellation, PackDefinition, ToolDefinition
from ot.registry.registry import ToolRegistry
from ot.run.answer import DESCRIPTION
from ot.run.kernel_session import hold_while_asking
from ot.run.runner import Runner
from ot.values import ToolValue

_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "Python code"}},
    "required": ["command"],
    "additionalProperties": False,
}
_DAY = 24 * 3600.0  # seconds; a run has a clock of its own, which stands still while a person is asked


def register_run(registry: ToolRegistry, runner: Runner) -> None:
    pack, _, tool = RUN_TOOL.partition(".")
    definition = ToolDefinition(
        RUN_TOOL, DESCRIPTION, _PARAMETERS, f"{RUN_TOOL}(command: str)", Cancellation.ASYNC, timeout=_DAY
    )

    async def run(arguments: dict[str, ToolValue]) -> ToolValue:
        context = current()
        outer = context.caller
        if context.depth or outer.remaining is not None:
            raise ToolError("a run inside a run is refused: this is Python already, call the tools directly")
        caller = replace(
            NOBODY,
            progress=outer.progress,
            ask=None if outer.ask is None else hold_while_asking(outer.ask, context.held),
            front=outer.front,
            memory=outer.memory,
            client=outer.client,
            principal=outer.principal,
        )
        answer = await runner.run(str(arguments["command"]), caller=caller)
        if answer.is_error:
            raise ToolError(answer.text)
        return [answer.text, *answer.attachments] if answer.attachments else answer.text

    registry.register_pack(PackDefinition(pack, "Runs code.", tools={tool: definition}), {tool: run})
