"""Gemini, played from the description of its API (https://ai.google.dev/api/generate-content)."""

from __future__ import annotations

from mcp_core.json_types import Json
from ot_packs.net.values import items_of, text_of
from tests.services.played import PlayedService, Reply, Request

ANSWER = "Größe: Python 3.14 gets fixes. So does 3.13."


class PlayedGemini(PlayedService):
    """Answers every question alike, and from memory where it is given no search."""

    secret = "GEMINI_API_KEY"
    key = "AIza-key-of-the-tests-4711"

    def answer(self, request: Request) -> Reply:
        if request.headers.get("x-goog-api-key") != self.key:
            reason: Json = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
            return _error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [reason])
        version, _, rest = request.path[1:].partition("/models/")
        model, _, verb = rest.partition(":")
        if version not in ("v1", "v1beta") or verb != "generateContent" or not model.startswith("gemini-"):
            return _error(404, "NOT_FOUND", f"models/{model} is not found for API version v1beta")
        question = text_of(items_of(items_of(request.body, "contents")[0], "parts")[0], "text")
        if "blocked" in question:
            return Reply(200, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}})
        tools = items_of(request.body, "tools")
        searches = any("google_search" in tool or "googleSearch" in tool for tool in tools)
        candidate: dict[str, Json] = {
            "content": {"role": "model", "parts": [{"text": ANSWER[:10]}, {"text": ANSWER[10:]}]},
            "finishReason": "STOP",
            "index": 0,
        }
        if searches and "memory" not in question:
            candidate["groundingMetadata"] = _grounding()
        usage: Json = {"promptTokenCount": 12, "candidatesTokenCount": 20, "totalTokenCount": 32}
        return Reply(200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": f"{model}-001"})


def _grounding() -> dict[str, Json]:
    first, second = "Größe: Python 3.14 gets fixes.", "So does 3.13."
    middle, end = len(first.encode()), len(ANSWER.encode())
    return {
        "webSearchQueries": ["python releases security"],
        "searchEntryPoint": {"renderedContent": "<div></div>"},
        "groundingChunks": [
            {"web": {"uri": "https://pages.example/versions", "title": "pages.example"}},
            {"web": {"uri": "https://other.example/eol", "title": "other.example"}},
        ],
        "groundingSupports": [
            {"segment": {"endIndex": middle, "text": first}, "groundingChunkIndices": [0, 1]},
            {"segment": {"startIndex": middle + 1, "endIndex": end, "text": second}, "groundingChunkIndices": [1]},
        ],
    }


def too_much(delay: str) -> Reply:
    """The refusal of a request that was one too many, with how long to wait."""
    violation: Json = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerMinute"}]}
    wait: Json = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    return _error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [violation, wait])


def _error(status: int, code: str, message: str, details: list[Json] | None = None) -> Reply:
    return Reply(status, {"error": {"code": status, "message": message, "status": code, "details": details or []}})
