"""A model played behind the APIs of Anthropic, Ollama and OpenAI, with the faults that a test wants."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from anyio.abc import SocketStream

from mcp_core.json_types import Json
from tests.models.raw_provider import begun, spoken
from tests.raw_http import Answering
from tests.services.played import PlayedService, Reply, Request

PATHS = {"/v1/messages": "anthropic", "/api/chat": "ollama", "/v1/chat/completions": "openai"}
SECRETS = {"anthropic": "ANTHROPIC_API_KEY", "ollama": "OLLAMA_API_KEY", "openai": "OPENAI_API_KEY"}
_DATA = re.compile(r"^(===== data \w+ =====)\n(.*)\n\1$", re.DOTALL | re.MULTILINE)
_SCHEMA = re.compile(r"^\{.*\}$", re.MULTILINE)
_VALUES: dict[str, Json] = {"string": "Ada Lovelace", "integer": 1815, "number": 1.5, "boolean": True, "null": None}


class PlayedModels(PlayedService):
    """Answers with the data in capital letters, or with a value that fits the schema; `says` answers otherwise."""

    secret = "OPENAI_API_KEY"

    def __init__(self) -> None:
        super().__init__()
        self.says: Callable[[str], str] = answer_by_the_rules

    def forget(self) -> None:
        """Forget what an earlier test wanted and asked."""
        self.says = answer_by_the_rules
        self.key = type(self).key
        self.rate = None
        self.requests.clear()
        self.faults.clear()

    def answer(self, request: Request) -> Reply:
        provider = PATHS[request.path]
        sent = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if sent != self.key:
            return Reply(401, {"error": {"type": "authentication_error", "message": f"invalid key {sent}"}})
        return speak(provider, self.says(question_in(request)))


def speak(provider: str, text: str) -> Reply:
    """A turn as a provider streams it."""
    return Reply(200, b"".join(spoken(provider, text)).decode(), {"content-type": "text/event-stream"})


def stop_in_the_middle(provider: str) -> Reply:
    return Reply(200, b"".join(begun(provider, "half of")).decode(), {"content-type": "text/event-stream"})


def never_finish(provider: str) -> Answering:
    """Begin a turn, and wait until the caller hangs up."""

    async def answer(stream: SocketStream) -> None:
        words = b"".join(begun(provider, "half of"))
        await stream.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 90000\r\n\r\n" + words
        )
        await stream.receive()

    return answer


def question_in(request: Request) -> str:
    """The last message."""
    text: str = request.body["messages"][-1]["content"]
    return text


def data_in(question: str) -> str:
    found = _DATA.search(question)
    return found[2] if found else ""


def answer_by_the_rules(question: str) -> str:
    if "JSON Schema" not in question:
        return data_in(question).upper()
    found = _SCHEMA.search(question)
    assert found
    return json.dumps(_fitting(json.loads(found[0])))


def _fitting(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _fitting(inner) for name, inner in schema["properties"].items()}
    return [_fitting(schema["items"])] if kind == "array" else _VALUES.get(str(kind))
