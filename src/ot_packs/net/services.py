"""A service that a pack calls: its address, key and rate, and errors for its refusals that say what to do."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_core.json_types import Json
from mcp_core.visible_text import visible
from ot import errors

if TYPE_CHECKING:
    from ot_packs.net.client import Answer

_TELLING = ("message", "detail", "error", "error_description", "details", "title", "reason", "code")


@dataclass(frozen=True, slots=True)
class Service:
    """A service as its pack knows it; the person's options may set another address and another rate."""

    pack: str
    name: str
    base_url: str
    secret: str  # the name of the secret that holds the key
    page: str  # where a person gets a key
    header: str = "authorization"  # carries the key
    scheme: str = "Bearer "
    key_required: bool = True
    rate: float = 10.0  # requests a second
    patience: float = 30.0  # seconds without a byte
    statuses_of_key: frozenset[int] = frozenset({401, 403})  # a refused key
    words_of_key: tuple[str, ...] = ()  # codes in an answer of another status that say the same


def read_base_url(service: Service, config: Mapping[str, object]) -> str:
    base_url = config.get("base_url", service.base_url)
    if not isinstance(base_url, str) or not _is_address(base_url):
        raise errors.ToolError(f"packs.{service.pack}.base_url is not an address such as {service.base_url}")
    return base_url.rstrip("/")


def read_rate(pack: str, config: Mapping[str, object], default: float) -> float:
    """Read `packs.NAME.rate`, in requests a second; raises ToolError."""
    rate = config.get("rate", default)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < math.inf:
        raise errors.ToolError(f"packs.{pack}.rate is not a number of requests a second, such as {default:g} or 0.5")
    return float(rate)


def check_key(key: str, service: str, secret: str, page: str) -> None:
    """Raise KeyRefusedError if no header can carry a key."""
    if not key.isascii() or not key.isprintable() or key != key.strip():
        reason = "it contains white space or non-ASCII characters, and was not sent"
        raise errors.KeyRefusedError(service, reason, secret, page)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return bool(named) and not parts.query and not parts.fragment and text.isascii() and text.isprintable()


def is_passing(answer: Answer) -> bool:
    return answer.status in {408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}


def refusal(service: Service, answer: Answer) -> errors.CallError:
    """Return the error for an answer whose status is not that of success."""
    reason = reason_of(answer)
    text = answer.body[:10_000].decode("utf-8", "replace")
    if answer.status in service.statuses_of_key or any(word in text for word in service.words_of_key):
        return errors.KeyRefusedError(service.name, reason, service.secret, service.page)
    if answer.status == HTTPStatus.PAYMENT_REQUIRED:
        return errors.PaymentRequiredError(service.name, reason, service.page)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_passing(answer):
        return errors.ServiceUnavailableError("", f"{service.name} answers {answer.status}: {reason}")
    if answer.status < HTTPStatus.BAD_REQUEST:
        return nonsense(service, f"status {answer.status}, a redirect, which is not followed")
    return errors.ServiceRefusedError(service.name, reason, answer.status)


def nonsense(service: Service, reason: str) -> errors.ServiceAnswerError:
    return errors.ServiceAnswerError(service.name, reason, f"packs.{service.pack}.base_url")


def read_json(service: Service, answer: Answer) -> Json:
    """Return what an answer holds; raises ServiceAnswerError if it is not JSON."""
    try:
        value: Json = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        if answer.body.strip() and not _is_page(answer):
            raise nonsense(service, f"{len(answer.body):,} bytes that are not JSON, or are incomplete") from error
        raise nonsense(service, f"{'an HTML page' if _is_page(answer) else 'nothing'} instead of JSON") from error
    return value


def reason_of(answer: Answer) -> str:
    """Return what a service says of its refusal, in a line."""
    try:
        told = _told(json.loads(answer.body), 4)
    except (ValueError, RecursionError):
        told = "" if _is_page(answer) else answer.body[:2000].decode("utf-8", "replace")
    line = visible(" ".join(told.split()))[:300].rstrip(". ")  # characters of what a service says
    return line or phrase_of(answer.status)


def _told(value: Json, depth: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and depth:
        return next((text for key in _TELLING if (text := _told(value.get(key), depth - 1))), "")
    if isinstance(value, list) and depth:
        return next((text for item in value[:5] if (text := _told(item, depth - 1))), "")
    return ""


def _is_page(answer: Answer) -> bool:
    return "html" in answer.media_type or answer.body.lstrip()[:1] == b"<"


def phrase_of(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "an unknown status"
