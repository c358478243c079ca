"""A conversation in the form of chat APIs: OpenAI's and Ollama's differ only in how they write calls and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mcp_core.json_types import JsonObject
from ot.ai import messages


def render_conversation(
    request: messages.Request,
    turn: Callable[[messages.AssistantMessage], JsonObject],
    origin: Callable[[messages.ToolResult], JsonObject],
) -> Iterator[JsonObject]:
    """Yield the messages; `turn` gives what a turn of the model has beside its text, `origin` names a result's call."""
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        match message:
            case messages.UserMessage():
                yield {"role": "user", "content": message.text}
            case messages.AssistantMessage():
                yield {"role": "assistant", "content": message.text, **turn(message)}
            case messages.ToolMessage():
                for result in message.results:
                    words = result.text if result.ok else f"Error: {result.text}"
                    yield {"role": "tool", **origin(result), "content": words}
