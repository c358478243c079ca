"""Answers that a model grounds in a web search, with their sources."""

from __future__ import annotations

import re
from typing import TypedDict

from mcp_core.json_types import Json
from ot.context import current
from ot.effects import reads
from ot.errors import ToolError
from ot_packs.net.calling import open_service
from ot_packs.net.services import Service
from ot_packs.net.values import items_of, number_of, part_of, text_of, texts_of

pack = "ground"
secrets = ("GEMINI_API_KEY",)
timeout = 100

_GEMINI = Service(
    pack=pack,
    name="Gemini",
    base_url="https://generativelanguage.googleapis.com/v1",
    secret="GEMINI_API_KEY",
    page="https://aistudio.google.com/apikey",
    header="x-goog-api-key",
    scheme="",
    rate=1.0,
    patience=90.0,
    words_of_key=("API_KEY_INVALID",),
)
_MODEL = "gemini-flash-latest"
_MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_LONGEST_QUESTION = 100_000  # characters
_LONGEST_ANSWER = 200_000
_MOST_SOURCES = 100


class Source(TypedDict):
    """A page that was found; passages refer to it by `number`."""

    number: int
    title: str
    url: str


class Passage(TypedDict):
    """A part of the answer, and the numbers of the sources that support it."""

    text: str
    sources: list[int]


class Tokens(TypedDict):
    input: int
    output: int
    total: int


class Grounded(TypedDict):
    """An answer; `grounded` is false if the model answered without a search, from memory."""

    answer: str
    grounded: bool
    sources: list[Source]
    passages: list[Passage]
    queries: list[str]
    complete: bool
    model: str
    tokens: Tokens


@reads
async def search(*, query: str, context: str = "", model: str | None = None) -> Grounded:
    """Answer a question from a web search, with the sources of every passage.

    Args:
        query: The question.
        context: Background for the answer: "for a team that uses Django 5".
        model: A Gemini model that can search, instead of the configured one.

    Returns:
        The `answer`; `sources` with `number`, `title` and `url`; `passages` of the answer with the numbers of their
        `sources`; the `queries` that were searched for; whether it is `grounded` in them, and `complete`; the `tokens`.

    Example:
        seen = ground.search(query="Which Python releases still get security fixes?")
        [(source["number"], source["title"]) for source in seen["sources"]]
    """
    if not query.strip():
        raise ToolError("query is empty")
    if len(query) + len(context) > _LONGEST_QUESTION:
        raise ToolError(f"query and context have more than {_LONGEST_QUESTION:,} characters: shorten them")
    configured = current().config.get("model", _MODEL)
    if model is None and (not isinstance(configured, str) or not _MODEL_NAME.fullmatch(configured)):
        raise ToolError(f"packs.ground.model is not the name of a model such as {_MODEL}")
    name = str(configured) if model is None else model
    if not _MODEL_NAME.fullmatch(name):
        raise ToolError(f"{name[:100]!r} is not the name of a model such as {_MODEL}")
    question = f"{query}\n\nContext: {context}" if context.strip() else query
    body = {"contents": [{"role": "user", "parts": [{"text": question}]}], "tools": [{"googleSearch": {}}]}
    async with open_service(_GEMINI) as service:
        answer = await service.post(f"models/{name}:generateContent", body, repeatable=True)
    return _describe(answer, name)


def _describe(answer: Json, model: str) -> Grounded:
    candidates = items_of(answer, "candidates")
    candidate = candidates[0] if candidates else {}
    parts = (part for part in items_of(candidate, "content", "parts") if part.get("thought") is not True)
    text = "".join(text_of(part, "text", limit=_LONGEST_ANSWER) for part in parts)[:_LONGEST_ANSWER]
    ended = text_of(candidate, "finishReason")
    if not text:
        reason = text_of(answer, "promptFeedback", "blockReason") or ended or "no reason given"
        raise ToolError(f"Gemini gave no answer ({reason}); ask in other words")
    found = part_of(candidate, "groundingMetadata")
    # They are numbered as the passages do; those that are not pages are left out.
    sources: list[Source] = [
        {"number": number, "title": text_of(chunk, "web", "title"), "url": text_of(chunk, "web", "uri")}
        for number, chunk in enumerate(items_of(found, "groundingChunks")[:_MOST_SOURCES], start=1)
        if text_of(chunk, "web", "uri")
    ]
    used = part_of(answer, "usageMetadata")
    asked, answered = number_of(used, "promptTokenCount"), number_of(used, "candidatesTokenCount")
    return {
        "answer": text,
        "grounded": bool(sources),
        "sources": sources,
        "passages": _passages(found, {source["number"] for source in sources}),
        "queries": texts_of(found, "webSearchQueries")[:_MOST_SOURCES],
        "complete": ended == "STOP",
        "model": text_of(answer, "modelVersion") or model,
        "tokens": {"input": asked, "output": answered, "total": number_of(used, "totalTokenCount")},
    }


def _passages(found: Json, known: set[int]) -> list[Passage]:
    passages: list[Passage] = []
    for support in items_of(found, "groundingSupports"):
        indices = support.get("groundingChunkIndices")
        numbers = [index + 1 for index in indices if isinstance(index, int)] if isinstance(indices, list) else []
        if cited := [number for number in numbers if number in known]:
            passages.append({"text": text_of(support, "segment", "text"), "sources": cited})
    return passages
