"""The addresses of a login are chosen by the server: they lead nowhere that only this network should reach."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from mcp_core.json_types import JsonObject
from ot.config.server_settings import ServerSettings
from ot.proxy.authorisation.provider import build_authorisation
from ot.proxy.plan import ConnectionPlan
from ot.store.credentials import FileCredentials

pytestmark = pytest.mark.anyio

SERVER, INSIDE = "https://mcp.example/mcp", "http://169.254.169.254/latest"
RESOURCE: JsonObject = {"resource": SERVER, "authorization_servers": ["https://id.example"]}
ISSUER: JsonObject = {
    "issuer": "https://id.example",
    "authorization_endpoint": "https://id.example/auth",
    "token_endpoint": "https://id.example/token",
    "registration_endpoint": "https://id.example/register",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}


def plan(folder: Path, sent: list[str]) -> ConnectionPlan:
    async def authorise(address: str) -> None:
        sent.append(address)

    return ConnectionPlan(
        server="shop",
        settings=ServerSettings(url=SERVER),
        mode="auto",
        older=False,
        project=folder,
        environ={},
        place="shop",
        credentials=FileCredentials(folder),
        logins=None,
        authorise=authorise,
        learn=lambda secret: None,
        claims=dict,
    )


@pytest.mark.parametrize(
    ("challenge", "resource", "issuer"),
    [
        (f'Bearer resource_metadata="{INSIDE}"', RESOURCE, ISSUER),
        ("Bearer", {**RESOURCE, "authorization_servers": [INSIDE]}, ISSUER),
        ("Bearer", RESOURCE, {**ISSUER, "registration_endpoint": INSIDE}),
        ("Bearer", RESOURCE, {**ISSUER, "authorization_endpoint": INSIDE}),
    ],
    ids=["metadata", "issuer", "registration", "page"],
)
async def test_a_server_leads_nobody_into_this_network(
    tmp_path: Path, challenge: str, resource: JsonObject, issuer: JsonObject
) -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        if request.url.path.startswith("/.well-known/oauth-protected-resource"):
            return httpx2.Response(200, json=resource)
        if request.url.path.startswith("/.well-known"):
            return httpx2.Response(200, json=issuer)
        if request.url.path == "/register":
            return httpx2.Response(201, json={"client_id": "us", "redirect_uris": ["http://127.0.0.1:1/callback"]})
        return httpx2.Response(401, headers={"WWW-Authenticate": challenge})

    authorisation = await build_authorisation(plan(tmp_path, asked))
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), auth=authorisation) as client:
        with pytest.raises(OAuthFlowError, match="does not begin with https://"):
            await client.post(SERVER)

    assert asked
    assert all(address.startswith("https://") for address in asked)
