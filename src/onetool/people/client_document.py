"""The document that describes this server as an OAuth client, to issuers that look a client up by its address."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from onetool.people.people import People
from ot.proxy.plan import CALLBACK, CLIENT_DOCUMENT

_FRESH = 3600  # seconds


def client_document_routes(people: People) -> list[BaseRoute]:
    """Return the route of the document; none without TLS, where its address would be no client's id."""
    url = people.public_url
    if not url.startswith("https://"):
        return []
    described = {
        "client_id": f"{url}{CLIENT_DOCUMENT}",
        "client_name": "OneTool",
        "client_uri": url,
        "redirect_uris": [f"{url}{CALLBACK}"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }

    async def describe(_: Request) -> Response:
        return JSONResponse(described, headers={"Cache-Control": f"public, max-age={_FRESH}"})

    return [Route(CLIENT_DOCUMENT, describe, methods=["GET"])]
