"""Errors for answers that refuse a request, with the reason and what to do."""

from __future__ import annotations

import json
from http import HTTPStatus

from mcp_core.json_types import Json
from ot.errors import (
    CallError,
    KeyRefusedError,
    PaymentRequiredError,
    ServiceAnswerError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from ot.execution.shown_arguments import visible
from ot_packs.net.bounded import Answer
from ot_packs.net.service import Service

_LONGEST = 300  # characters of what a service says
_TELLING = ("message", "detail", "error", "error_description", "details", "title", "reason", "code")
_PASSING = {408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}


def is_passing(answer: Answer) -> bool:
    """True if the same request may succeed a little later."""
    return answer.status in _PASSING


def refusal(service: Service, answer: Answer) -> CallError:
    """Return the error for an answer whose status is not that of success."""
    reason = reason_of(answer)
    text = answer.body[:10_000].decode("utf-8", "replace")
    if answer.status in service.statuses_of_key or any(word in text for word in service.words_of_key):
        return KeyRefusedError(service.name, reason, service.secret, service.page)
    if answer.status == HTTPStatus.PAYMENT_REQUIRED:
        return PaymentRequiredError(service.name, reason, service.page)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_passing(answer):
        return ServiceUnavailableError("", f"{service.name} answers {answer.status}: {reason}")
    if answer.status < HTTPStatus.BAD_REQUEST:
        return nonsense(service, f"status {answer.status}, a redirect, which is not followed")
    return ServiceRefusedError(service.name, reason, answer.status)


def nonsense(service: Service, reason: str) -> ServiceAnswerError:
    return ServiceAnswerError(service.name, reason, f"packs.{service.pack}.base_url")


def read_json(service: Service, answer: Answer) -> Json:
    """Return what an answer holds; raises ServiceAnswerError if it is not JSON."""
    try:
        value: Json = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise nonsense(service, _describe(answer)) from error
    return value


def reason_of(answer: Answer) -> str:
    """Return what a service says of its refusal, in a line."""
    try:
        told = _told(json.loads(answer.body), 4)
    except (ValueError, RecursionError):
        told = "" if _is_page(answer) else answer.body[:2000].decode("utf-8", "replace")
    line = visible(" ".join(told.split()))[:_LONGEST].rstrip(". ")
    return line or _phrase(answer.status)


def _told(value: Json, depth: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and depth:
        return next((text for key in _TELLING if (text := _told(value.get(key), depth - 1))), "")
    if isinstance(value, list) and depth:
        return next((text for item in value[:5] if (text := _told(item, depth - 1))), "")
    return ""


def _describe(answer: Answer) -> str:
    if _is_page(answer):
        return "an HTML page instead of JSON"
    if not answer.body.strip():
        return "nothing instead of JSON"
    return f"{len(answer.body):,} bytes that are not JSON, or are incomplete"


def _is_page(answer: Answer) -> bool:
    return "html" in answer.media_type or answer.body.lstrip()[:1] == b"<"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "an unknown status"
