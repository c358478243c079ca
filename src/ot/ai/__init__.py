"""Conversations with models that use our tools, the same whichever provider serves the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_core.lazy_names import lazy_names

if TYPE_CHECKING:
    from ot.ai.clients import build_client
    from ot.ai.events import Event, Finished, Retrying, TextDelta, ToolEnded, ToolStarted, Usage
    from ot.ai.models.failover import Totals
    from ot.ai.models.model import Model
    from ot.ai.tool_loop import ToolLoop
else:  # The configuration reads the providers' folders, and needs nothing else.
    __getattr__ = lazy_names(__name__)
