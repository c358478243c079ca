"""The person behind a request, as authentication has found them."""

from __future__ import annotations

from typing import TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from starlette.requests import Request

from ot.clients.person import LOCAL_PERSON, Person

State = TypeVar("State")

SCOPE_KEY = "onetool.person"
"""Where the gate puts a Person into the ASGI scope of a request."""


def person_of(ctx: Context[State] | ServerRequestContext[State]) -> Person:
    """Return who asks: whom the gate has let in, or the one person of this machine where there is no gate."""
    return person_in(ctx.request_context.request if isinstance(ctx, Context) else ctx.request)


def person_in(request: Request | None) -> Person:
    """Return who is behind a request over HTTP."""
    person = None if request is None else request.scope.get(SCOPE_KEY)
    return person if isinstance(person, Person) else LOCAL_PERSON
