"""From a model that did not answer to the error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from ot.errors import (
    CallError,
    KeyRefusedError,
    MissingSecretError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    PaymentRequiredError,
    RateLimitedError,
    ServiceRefusedError,
    ServiceUnavailableError,
    ToolError,
)
from ot.execution.wording import word_error
from ot_packs.llm.choosing import ProviderKey

_OF_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_RATE_KEY = "packs.llm.rate"


def explain(error: ModelError, sources: Mapping[str, ProviderKey]) -> CallError:
    """Return the error of the call; without a source it was the client that was asked."""
    if not isinstance(error, ModelRefusedError | ModelUnavailableError):
        return ToolError(word_error(error))
    name, reason, status = error.provider, error.reason, error.status
    source = sources.get(name)
    if source is None:
        return ToolError(f"the client did not return an answer of its model: {reason}")
    if status in _OF_KEY:
        refused = KeyRefusedError(name, reason, source.secret, source.place)
        return refused if source.has_key else MissingSecretError(source.secret, source.place)
    if status == HTTPStatus.PAYMENT_REQUIRED:
        return PaymentRequiredError(name, reason, source.place)
    if status == HTTPStatus.TOO_MANY_REQUESTS and isinstance(error, ModelUnavailableError):
        return RateLimitedError(name, reason, error.retry_after or 0.0, _RATE_KEY)
    if isinstance(error, ModelRefusedError) and status is not None:
        return ServiceRefusedError(name, reason, status)
    return ServiceUnavailableError("", f"{name}: {reason}")
