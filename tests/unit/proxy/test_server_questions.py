"""Many questions of a server at once are one question, which has a bound."""

from __future__ import annotations

import anyio
import pytest

from mcp_core.json_types import JsonObject
from ot.clients.front import FrontError
from ot.proxy.connections.server_questions import ServerQuestions

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("message", ["", "more?"])
async def test_a_server_cannot_put_off_its_question_by_asking_on(message: str) -> None:
    questions, person = ServerQuestions("chatty"), object()
    asked: list[JsonObject] = []
    refused: list[str] = []

    async def put(shown: JsonObject) -> JsonObject:
        asked.append(shown)
        return {"action": "decline"}

    async def ask() -> None:
        try:
            await questions.ask({"message": message}, person, put)
        except FrontError as error:
            refused.append(str(error))

    async with anyio.create_task_group() as tasks:
        for _ in range(9_000):
            tasks.start_soon(ask)

    assert len(asked) == 1
    assert set(refused) == {"its questions are longer than 32,768 characters"}
