"""The model of the connected client (MCP's sampling): the client asks it, and its person, in its own way."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from mcp_core.json_types import Json, JsonObject
from ot.ai.messages import AssistantMessage, Piece, Request, Stopped, Text, UserMessage
from ot.clients.front import SAMPLE, Front, FrontError
from ot.context import CallContext
from ot.errors import ModelRefusedError

CLIENT = "client"
_ROLES = {UserMessage: "user", AssistantMessage: "assistant"}


class ClientModel:
    """Whichever model the client chooses; it says nothing of tokens. The call's clock stands still meanwhile."""

    provider = CLIENT

    def __init__(self, front: Front, context: CallContext, wanted: str | None) -> None:
        self.name = wanted or ""
        self._front = front
        self._context = context

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        params: JsonObject = {
            "messages": [
                {"role": _ROLES[type(message)], "content": {"type": "text", "text": message.text}}
                for message in request.messages
                if isinstance(message, UserMessage | AssistantMessage)
            ],
            "systemPrompt": request.system,
            "maxTokens": request.max_tokens,
        }
        if self.name:
            params["modelPreferences"] = {"hints": [{"name": self.name}]}
        try:
            with self._context.held():
                answer = await self._front.request(SAMPLE, params, "")
        except FrontError as error:
            raise ModelRefusedError(CLIENT, str(error)) from error
        yield Text(_words_of(answer.get("content")))
        yield Stopped("length" if answer.get("stopReason") == "maxTokens" else "done")

    async def close(self) -> None:
        """Do nothing: the connection is the client's own."""


def _words_of(content: Json) -> str:
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "".join(text for text in texts if isinstance(text, str))
