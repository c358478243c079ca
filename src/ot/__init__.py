"""OneTool's engine: every tool a person owns, called through one door, and code that runs against them.

What is named here may be imported by packs and by programs around the engine; everything else is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.app import App, open_app, open_assistant
    from ot.clients.caller import Caller
    from ot.config.loader import LoadedConfig, load_config
    from ot.context import CallContext, current
    from ot.effects import Effect, idempotent, reads
    from ot.errors import CallError, ConfigError, OneToolError, ToolError
    from ot.execution.tool_executor import ToolExecutor
    from ot.isolate import isolated
    from ot.values import Audio, Image, ProjectPath, Record, Resource
else:  # A pack that needs one of these should not load the engine.
    __getattr__ = lazy_names(__name__)
