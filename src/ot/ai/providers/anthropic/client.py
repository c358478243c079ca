"""AnthropicClient: conversations with Claude."""

from __future__ import annotations

from ot.ai.tool_loop import ToolLoop


class AnthropicClient(ToolLoop):
    """A conversation with Claude; every call that it asks for goes through the executor."""
