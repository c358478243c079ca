"""The addresses of a login are chosen by the server: they lead nowhere that only this network should reach."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from mcp_core.json_types import JsonObject
from ot.config.server_settings import ServerSettings
from ot.proxy.authorisation.opening import build_authorisation
from ot.proxy.plan import ConnectionPlan
from ot.proxy.watched import Watched
from ot.store.credentials import FileCredentials

pytestmark = pytest.mark.anyio

SERVER = "https://mcp.example/mcp"
RESOURCE: JsonObject = {"resource": SERVER, "authorization_servers": ["https://id.example"]}
ISSUER: JsonObject = {
    "issuer": "https://id.example",
    "authorization_endpoint": "https://id.example/auth",
    "token_endpoint": "https://id.example/token",
    "registration_endpoint": "https://id.example/register",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}


def plan(folder: Path, sent: list[str], server: str = SERVER) -> ConnectionPlan:
    async def authorise(address: str) -> None:
        sent.append(address)

    return ConnectionPlan(
        server="shop",
        settings=ServerSettings(url=server),
        mode="auto",
        older=False,
        project=folder,
        environ={},
        place="shop",
        credentials=FileCredentials(folder),
        logins=None,
        authorise=authorise,
        learn=lambda secret: None,
        watched=Watched(),
        claims=dict,
    )


@pytest.mark.parametrize("place", ["metadata", "issuer", "registration", "page"])
@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("http://169.254.169.254/latest", "does not begin with https://"),
        ("https://169.254.169.254/latest", r"a private address \(169\.254\.169\.254\)"),
        ("https://localhost/admin", "a private address"),
        ("https://0x7f.1/admin", r"a private address \(127\.0\.0\.1\)"),
        ("https://[::ffff:10.0.0.1]/", "a private address"),
    ],
)
async def test_a_server_leads_nobody_into_this_network(tmp_path: Path, place: str, inside: str, reason: str) -> None:
    asked: list[str] = []
    challenge = f'Bearer resource_metadata="{inside}"' if place == "metadata" else "Bearer"
    resource = {**RESOURCE, "authorization_servers": [inside]} if place == "issuer" else RESOURCE
    named = {"registration": "registration_endpoint", "page": "authorization_endpoint"}.get(place)
    issuer = {**ISSUER, named: inside} if named else ISSUER

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
        with pytest.raises(OAuthFlowError, match=reason):
            await client.post(SERVER)

    assert asked
    assert all(address.startswith("https://") and ".example/" in address for address in asked)


@pytest.mark.parametrize(
    ("server", "login", "allowed"),
    [
        ("https://10.1.2.3/mcp", "https://192.168.0.9/auth", True),
        ("https://127.0.0.1:8443/mcp", "https://10.0.0.9/auth", True),
        ("https://10.1.2.3/mcp", "https://10.1.2.3/auth", True),
        ("https://10.1.2.3/mcp", "https://169.254.169.254/auth", False),
        ("https://8.8.8.8/mcp", "https://10.0.0.9/auth", False),
        ("https://8.8.8.8/mcp", "https://1.1.1.1/auth", True),
    ],
)
async def test_a_server_in_a_private_network_may_have_its_login_there(
    tmp_path: Path, server: str, login: str, *, allowed: bool
) -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(401, headers={"WWW-Authenticate": f'Bearer resource_metadata="{login}"'})

    authorisation = await build_authorisation(plan(tmp_path, asked, server))
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), auth=authorisation) as client:
        with pytest.raises(OAuthFlowError):
            await client.post(server)

    assert (login in asked) is allowed
