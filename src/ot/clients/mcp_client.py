"""An MCP client as the caller of runs: the one place where a caller is made of a front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_core.json_types import Json, JsonObject
from ot.clients.caller import CHOICE_WORDS, YES_OR_NO, Ask, Caller, Choice, Progress
from ot.clients.front import ELICIT, Front, FrontError
from ot.clients.memory import ClientMemory
from ot.clients.person import LOCAL

UNNAMED = "unnamed"

_NO = "no"
_AGREED, _CHOSEN = "agree", "answer"
_YES_OR_NO: JsonObject = {
    "properties": {_AGREED: {"description": "Let this call go ahead", "title": "Agree", "type": "boolean"}},
    "required": [_AGREED],
    "title": "Agreement",
    "type": "object",
}


def caller_of(
    front: Front,
    *,
    memory: ClientMemory,
    progress: Progress | None = None,
    client: str = "",
    run_id: str = "",
    principal: str = LOCAL,
) -> Caller:
    """Return the caller of a run that a client has asked for, or waits for."""
    return Caller(
        progress=progress,
        ask=_asking(front) if front.able.can_elicit else None,
        front=front,
        memory=memory,
        client=client or UNNAMED,
        run_id=run_id,
        principal=principal,
    )


def _asking(front: Front) -> Ask:
    """Put questions to the person as forms; what is not an answer is a no."""

    async def ask(question: str, choices: Sequence[Choice]) -> Choice | None:
        form = _YES_OR_NO if choices == YES_OR_NO else _choosing(choices, sessionless=front.sessionless)
        try:
            answer = await front.request(ELICIT, {"message": question, "mode": "form", "requestedSchema": form}, "")
        except FrontError:
            return None
        content = answer.get("content") if answer.get("action") == "accept" else None
        return _read_choice(content, choices) if isinstance(content, Mapping) else None

    return ask


def _choosing(choices: Sequence[Choice], *, sessionless: bool) -> JsonObject:
    words: dict[str, str] = {**{choice.value: CHOICE_WORDS[choice] for choice in choices}, _NO: "No"}
    field: JsonObject = {"title": "Answer", "type": "string"}
    if sessionless:
        field["oneOf"] = [{"const": key, "title": text} for key, text in words.items()]
    else:  # clients of that era know the titles of choices under this name
        field |= {"enum": list(words), "enumNames": list(words.values())}
    return {"type": "object", "properties": {_CHOSEN: field}, "required": [_CHOSEN]}


def _read_choice(content: Mapping[str, Json], choices: Sequence[Choice]) -> Choice | None:
    if choices == YES_OR_NO:
        return Choice.ONCE if content.get(_AGREED) is True else None
    return next((choice for choice in choices if content.get(_CHOSEN) == choice.value), None)
