"""Questions of runs to the person behind an MCP client, in the form that each kind of client can show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest

from mcp_official import ask_within, build_request, choose_within, read_choice, read_response
from ot.clients.caller import CHOICE_WORDS, YES_OR_NO, Ask, Choice

NO = "no"

State = TypeVar("State")


def asking_within(ctx: Context[State]) -> Ask:
    """Ask a client with a session in the middle of its request."""

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        if choices == YES_OR_NO:
            return Choice.ONCE if await ask_within(ctx, question) else None
        return _choice(await choose_within(ctx, question, _worded(choices)))

    return ask


def asking_between(answer_of: Callable[[ElicitRequest], Awaitable[object]]) -> Ask:
    """Ask a sessionless client: `answer_of` gives its word on a request, which comes with a later one."""

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        if choices == YES_OR_NO:
            return Choice.ONCE if read_response(await answer_of(build_request(question))) else None
        words = _worded(choices)
        return _choice(read_choice(await answer_of(build_request(question, words)), words))

    return ask


def _worded(choices: Sequence[Choice]) -> dict[str, str]:
    return {**{choice.value: CHOICE_WORDS[choice] for choice in choices}, NO: "No"}


def _choice(chosen: str | None) -> Choice | None:
    return None if chosen is None or chosen == NO else Choice(chosen)
