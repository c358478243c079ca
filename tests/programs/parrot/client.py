"""ParrotClient: conversations with a parrot."""

from __future__ import annotations

from ot.ai.tool_loop import ToolLoop


class ParrotClient(ToolLoop):
    """A conversation with a parrot."""
