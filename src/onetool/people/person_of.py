"""The person behind a request, as authentication has found them, and why it refuses credentials."""

from __future__ import annotations

from typing import TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from starlette.requests import Request

from ot.clients.person import LOCAL_PERSON, Person

State = TypeVar("State")

SCOPE_KEY = "onetool.person"  # where the gate puts a Person into the ASGI scope of a request


def person_of(ctx: Context[State] | ServerRequestContext[State]) -> Person:
    """Return who asks: whom the gate has let in, or the one person of this machine where there is no gate."""
    return person_in(ctx.request_context.request if isinstance(ctx, Context) else ctx.request)


def person_in(request: Request | None) -> Person:
    person = None if request is None else request.scope.get(SCOPE_KEY)
    return person if isinstance(person, Person) else LOCAL_PERSON


class RefusedError(Exception):
    """Authentication failed; the text is for the client, and says nothing about the token itself."""

    status = 401
    error = "invalid_token"


class NoCredentialsError(RefusedError):
    """The request has no credentials; the protocol has no error code for that."""

    error = ""


class UnavailableError(RefusedError):
    """Credentials cannot be checked now, and may be valid."""

    status = 503
    error = "temporarily_unavailable"
    retry_after = 10  # seconds
