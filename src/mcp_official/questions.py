"""Yes-or-no questions to the person behind a client, in both eras of the protocol."""

from __future__ import annotations

from typing import TypeVar

from mcp.server.elicitation import render_elicitation_schema
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

State = TypeVar("State")

_SESSIONLESS = "2026-07-28"  # from this version on a server cannot ask in the middle of a request


class Agreement(BaseModel):
    """The form that a person fills in."""

    agree: bool = Field(description="Let this call go ahead")


def can_ask(context: Context[State]) -> bool:
    """True if this client can show a form to its person."""
    capabilities = context.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return is_sessionless(context) or context.session.can_send_request


def is_sessionless(context: Context[State]) -> bool:
    """True if a question to this client must be the answer to its request."""
    version = context.protocol_version
    return version is not None and is_version_at_least(version, _SESSIONLESS)


async def ask_within(context: Context[State], question: str) -> bool:
    """Ask in the middle of a request, as clients with a session allow."""
    try:
        answer = await context.elicit(question, Agreement)
    except (MCPError, ValueError):  # the client refused the question, or answered something else
        return False
    return answer.action == "accept" and answer.data.agree


def build_request(question: str) -> ElicitRequest:
    """Build the question as part of an answer, for sessionless clients."""
    schema = render_elicitation_schema(Agreement)
    return ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=schema))


def read_response(response: object) -> bool:
    """True if what a sessionless client sent back is a yes."""
    if not isinstance(response, ElicitResult) or response.action != "accept":
        return False
    try:
        return Agreement.model_validate(response.content).agree
    except ValidationError:
        return False
