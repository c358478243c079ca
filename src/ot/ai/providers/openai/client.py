"""OpenaiClient: conversations with models behind OpenAI's chat API."""

from __future__ import annotations

from ot.ai.tool_loop import ToolLoop


class OpenaiClient(ToolLoop):
    """A conversation with such a model; every call that it asks for goes through the executor."""
