"""The door of a team's server: who is let in, as whom, and what those are told who are not."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping

import httpx2
import pytest

from tests.e2e.http_server import INITIALIZE
from tests.e2e.raw_server import WAIT
from tests.team.oidc.openid_provider import OpenIdProvider
from tests.team.team_server import HANDSHAKE, SESSIONLESS, TeamServer, run, serve_team

pytestmark = [pytest.mark.xdist_group("team"), pytest.mark.anyio]


@pytest.fixture(scope="module")
def server(openid_provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    auth = {"issuer": openid_provider.issuer, "admins": ["ops"]}
    config = {"policy": {"ask": ["demo.bar"]}}
    with serve_team(tmp_path_factory.mktemp("team"), auth=auth, config=config) as found:
        yield found


def post(server: TeamServer, headers: dict[str, str], message: Mapping[str, object] = INITIALIZE) -> httpx2.Response:
    usual = {"Accept": "application/json, text/event-stream"}
    return httpx2.post(server.url, headers={**usual, **headers}, json=message, timeout=WAIT)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("mode", [HANDSHAKE, SESSIONLESS])
async def test_a_person_with_a_token_for_this_server_is_served(
    server: TeamServer, openid_provider: OpenIdProvider, mode: str
) -> None:
    async with server.connect(openid_provider.token("ann", resource=server.url), mode) as client:
        assert await run(client, "demo.upper(text='ann')") == "ANN"


def test_whoever_says_nothing_learns_where_tokens_come_from(
    server: TeamServer, openid_provider: OpenIdProvider
) -> None:
    answer = post(server, {})
    challenge = answer.headers["www-authenticate"]
    found = re.search(r'resource_metadata="([^"]+)"', challenge)
    assert found is not None
    metadata = httpx2.get(found[1], timeout=WAIT).json()

    assert answer.status_code == 401
    assert "error=" not in challenge
    assert metadata["resource"] == server.url
    assert [url.rstrip("/") for url in metadata["authorization_servers"]] == [openid_provider.issuer]


@pytest.mark.parametrize(
    ("resource", "seconds", "reason"),
    [
        ("http://127.0.0.1:1/mcp", 3600, "made for another server"),
        ("urn:opaque:mcp", 3600, "is not a JWT"),
        (None, 3600, "is not a JWT"),
        ("{url}", -60, "has expired"),
    ],
    ids=["another-audience", "opaque", "no-resource", "expired"],
)
def test_other_tokens_of_the_issuer_are_refused_with_a_reason(
    server: TeamServer, openid_provider: OpenIdProvider, resource: str | None, seconds: int, reason: str
) -> None:
    wanted = None if resource is None else resource.format(url=server.url)
    token = openid_provider.token("ann", resource=wanted, seconds=seconds)

    answer = post(server, bearer(token))

    assert answer.status_code == 401
    assert reason in answer.json()["error_description"]
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert token not in server.log


def test_a_session_does_not_exist_for_anybody_but_its_person(
    server: TeamServer, openid_provider: OpenIdProvider
) -> None:
    ann, bob = (openid_provider.token(name, resource=server.url) for name in ("ann", "bob"))
    another_of_ann = openid_provider.token("ann", resource=server.url)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

    session = {"Mcp-Session-Id": post(server, bearer(ann)).headers["mcp-session-id"]}

    assert post(server, {**bearer(bob), **session}, ping).status_code == 404
    assert httpx2.delete(server.url, headers={**bearer(bob), **session}, timeout=WAIT).status_code == 404
    assert post(server, {**bearer(another_of_ann), **session}, ping).status_code == 200


def test_a_stranger_cannot_use_a_session_either(server: TeamServer, openid_provider: OpenIdProvider) -> None:
    token = openid_provider.token("ann", resource=server.url)
    session = {"Mcp-Session-Id": post(server, bearer(token)).headers["mcp-session-id"]}

    assert post(server, session).status_code == 401


def test_two_authorization_headers_are_none(server: TeamServer, openid_provider: OpenIdProvider) -> None:
    token = openid_provider.token("ann", resource=server.url)
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer other")]

    assert httpx2.post(server.url, headers=twice, json=INITIALIZE, timeout=WAIT).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 200),
    ],
)
def test_the_host_and_origin_are_those_of_the_public_address(
    server: TeamServer, openid_provider: OpenIdProvider, headers: dict[str, str], status: int
) -> None:
    token = openid_provider.token("ann", resource=server.url)

    assert post(server, {**bearer(token), **headers}).status_code == status


async def test_whoever_cannot_log_in_to_the_dashboard_is_asked_nowhere(
    server: TeamServer, openid_provider: OpenIdProvider
) -> None:
    for token in (openid_provider.token("ann", resource=server.url), server.keys("new", "--for", "robot")):
        async with server.connect(token) as client:
            answer = await client.call_tool("run", {"command": "demo.bar()"})
        assert answer.is_error
        assert "nobody can be asked here" in str(answer.content)
    server.keys("revoke", "robot")


async def test_a_machine_is_served_by_its_api_key_until_that_is_revoked(server: TeamServer) -> None:
    key = server.keys("new", "--for", "builder", "--groups", "dev", "ops")
    [entry] = json.loads(server.keys("list", "--json"))

    assert await server.run(key, "1 + 1") == "2"
    assert (entry["for"], entry["groups"], entry["expired"]) == ("builder", ["dev", "ops"], False)
    assert post(server, bearer(f"{key}x")).status_code == 401
    assert key.rpartition("_")[2] not in (server.folder / ".onetool/state/api-keys.json").read_text()
    server.keys("revoke", "builder")
    answer = post(server, bearer(key))
    assert answer.status_code == 401
    assert "revoked" in answer.json()["error_description"]


async def test_each_line_of_the_log_names_the_person_and_no_token(
    server: TeamServer, openid_provider: OpenIdProvider
) -> None:
    people = {name: openid_provider.token(name, resource=server.url) for name in ("eve", "joe")}
    await asyncio.gather(*(server.run(token, f"demo.upper(text={name!r})") for name, token in people.items()))

    await asyncio.to_thread(server.raw.wait_for_log, '"joe"]')

    lines = [line for line in server.raw.log if "text='eve'" in line or "demo.upper" in line]
    assert lines
    assert [line for line in lines if "person=" not in line] == []
    assert not any(token in server.log for token in people.values())
