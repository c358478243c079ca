"""OllamaClient: conversations with a model that Ollama serves."""

from __future__ import annotations

from ot.ai.tool_loop import ToolLoop


class OllamaClient(ToolLoop):
    """A conversation with a model of one's own; every call that it asks for goes through the executor."""
