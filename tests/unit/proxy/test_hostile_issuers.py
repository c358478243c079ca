"""Tokens without a browser: nobody but the configured issuer gets what a client knows, whatever a server says."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import parse_qs

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from mcp_core.json_types import JsonObject
from ot.config.server_settings import ServerSettings
from ot.proxy.authorisation.opening import build_authorisation
from ot.proxy.plan import ConnectionPlan, TeamLogins
from ot.proxy.watched import Watched
from ot.store.credentials import FileCredentials
from ot.store.logins import MemoryPendingLogins

pytestmark = pytest.mark.anyio

SERVER, ISSUER, SECRET, TOKEN = "https://mcp.example/mcp", "https://id.example", "the-password", "a-good-token"
RESOURCE: JsonObject = {"resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": ["admin"]}
METADATA: JsonObject = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "response_types_supported": ["code"],
    "token_endpoint_auth_methods_supported": ["client_secret_post"],
}
Answers = dict[str, Callable[[], httpx2.Response]]


def plan(folder: Path, logins: TeamLogins | None = None, **oauth: object) -> ConnectionPlan:
    async def authorise(address: str) -> None:
        raise AssertionError("nobody is sent anywhere")

    return ConnectionPlan(
        server="crm",
        settings=ServerSettings.model_validate({"url": SERVER, "oauth": oauth}),
        mode="auto",
        older=False,
        project=folder,
        environ={},
        place="crm",
        credentials=FileCredentials(folder),
        logins=logins,
        authorise=authorise,
        learn=lambda secret: None,
        claims=dict,
        watched=Watched(),
    )


def client(folder: Path, **oauth: object) -> ConnectionPlan:
    own = {"grant": "client_credentials", "issuer": ISSUER, "client_id": "us", "client_secret": SECRET, "scope": "mcp"}
    return plan(folder, None, **own, **oauth)


def answers(changed: Answers | None = None) -> Answers:
    """What is answered at each address; a server that wants a token, and an honest issuer, but for what is changed."""
    return {
        f"{SERVER.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp": lambda: httpx2.Response(
            200, json=RESOURCE
        ),
        f"{ISSUER}/.well-known/oauth-authorization-server": lambda: httpx2.Response(200, json=METADATA),
        f"{ISSUER}/token": lambda: httpx2.Response(200, json={"access_token": TOKEN, "token_type": "Bearer"}),
        **(changed or {}),
    }


async def send(plan: ConnectionPlan, known: Answers) -> tuple[httpx2.Response, list[httpx2.Request]]:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        if str(request.url) == SERVER:
            granted = request.headers.get("authorization") == f"Bearer {TOKEN}"
            challenge = {"WWW-Authenticate": 'Bearer scope="admin"'}
            return httpx2.Response(200, text="in") if granted else httpx2.Response(401, headers=challenge)
        found = known.get(str(request.url))
        return found() if found is not None else httpx2.Response(404)

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, auth=await build_authorisation(plan)) as sender:
        try:
            return await sender.post(SERVER), asked
        except OAuthFlowError as error:
            error.asked = asked  # type: ignore[attr-defined]
            raise


def asked_for_tokens(asked: list[httpx2.Request]) -> list[tuple[str, dict[str, list[str]]]]:
    """Every place that got the client's password, with what it was asked."""
    bodies = [(str(request.url), request.content.decode()) for request in asked]
    return [(url, parse_qs(body)) for url, body in bodies if SECRET in body]


async def test_only_what_is_configured_is_asked_for(tmp_path: Path) -> None:
    response, asked = await send(client(tmp_path), answers())

    assert response.text == "in"
    [(url, form)] = asked_for_tokens(asked)
    assert url == f"{ISSUER}/token"
    assert (form["scope"], form["resource"], form["grant_type"]) == (["mcp"], [SERVER], ["client_credentials"])


@pytest.mark.parametrize("named", ["https://evil.example", "https://169.254.169.254", f"{ISSUER}.evil.example"])
async def test_a_server_leads_to_no_other_issuer(tmp_path: Path, named: str) -> None:
    where = f"{SERVER.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp"
    resource = {**RESOURCE, "authorization_servers": [named]}

    response, asked = await send(client(tmp_path), answers({where: lambda: httpx2.Response(200, json=resource)}))

    assert response.text == "in"
    assert {request.url.host for request in asked} == {"mcp.example", "id.example"}


async def huge() -> AsyncIterator[bytes]:
    for _ in range(40):
        yield b"x" * 50_000


async def packed() -> AsyncIterator[bytes]:
    yield gzip.compress(b"{}")


@pytest.mark.parametrize(
    ("place", "answer", "reason"),
    [
        ("metadata", lambda: httpx2.Response(200, content=huge()), "more than 1,048,576 bytes"),
        (
            "metadata",
            lambda: httpx2.Response(200, json={**METADATA, "token_endpoint": "https://evil.example/token"}),
            "sends us to another host",
        ),
        (
            "metadata",
            lambda: httpx2.Response(200, json={**METADATA, "issuer": "https://evil.example"}),
            "issuer mismatch",
        ),
        ("token", lambda: httpx2.Response(200, json={"access_token": TOKEN, "token_type": "mac"}), "Invalid token"),
        ("token", lambda: httpx2.Response(200, content=packed(), headers={"Content-Encoding": "gzip"}), "compressed"),
        ("token", lambda: httpx2.Response(307, headers={"Location": "https://evil.example/token"}), "failed"),
        ("token", lambda: httpx2.Response(200, content=huge()), "more than 1,048,576 bytes"),
        (
            "token",
            lambda: httpx2.Response(200, json={"access_token": TOKEN, "token_type": "Bearer", "scope": "mcp admin"}),
            "permissions that were not asked for: admin",
        ),
    ],
    ids=[
        "huge metadata",
        "tokens elsewhere",
        "metadata of another",
        "no bearer",
        "packed",
        "redirect",
        "huge answer",
        "wider",
    ],
)
async def test_what_an_issuer_may_not_do_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str, answer: Callable[[], httpx2.Response], reason: str
) -> None:
    url = f"{ISSUER}/token" if place == "token" else f"{ISSUER}/.well-known/oauth-authorization-server"

    with pytest.raises(Exception, match=reason) as caught:
        await send(client(tmp_path), answers({url: answer}))

    asked: list[httpx2.Request] = getattr(caught.value, "asked", [])
    assert {url for url, _ in asked_for_tokens(asked)} <= {f"{ISSUER}/token"}
    assert SECRET not in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in str(caught.value)
    assert not any(file.read_text().count(TOKEN) for file in tmp_path.glob("*.json"))


async def test_tokens_of_another_client_are_not_used(tmp_path: Path) -> None:
    await send(client(tmp_path), answers())

    _, asked = await send(client(tmp_path), answers())
    assert not asked_for_tokens(asked), "its own are kept"
    other = plan(tmp_path, grant="client_credentials", issuer=ISSUER, client_id="others", client_secret=SECRET)
    _, asked = await send(other, answers())

    assert [form["client_id"] for _, form in asked_for_tokens(asked)] == [["others"]]


@pytest.mark.parametrize(
    ("supported", "public", "document"),
    [(True, "https://tools.example", True), (False, "https://tools.example", False), (True, "http://tools", False)],
    ids=["an issuer that takes it", "one that does not", "no public address with TLS"],
)
async def test_the_document_of_a_team_is_its_client_where_an_issuer_takes_it(
    tmp_path: Path, *, supported: bool, public: str, document: bool
) -> None:
    logins = TeamLogins(MemoryPendingLogins(), "ann", public)
    metadata = {
        **METADATA,
        "client_id_metadata_document_supported": supported,
        "registration_endpoint": f"{ISSUER}/register",
    }
    registered = {"client_id": "registered", "redirect_uris": [logins.callback], "token_endpoint_auth_method": "none"}
    known = answers({
        f"{ISSUER}/.well-known/oauth-authorization-server": lambda: httpx2.Response(200, json=metadata),
        f"{ISSUER}/register": lambda: httpx2.Response(201, json=registered),
    })  # fmt: skip

    with pytest.raises(AssertionError, match="nobody is sent anywhere"):
        await send(plan(tmp_path, logins), known)

    kept = await FileCredentials(tmp_path).read("crm")
    assert kept is not None
    assert isinstance(kept["client"], dict)
    assert kept["client"]["client_id"] == (f"{public}/oauth/client.json" if document else "registered")
