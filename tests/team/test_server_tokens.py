"""Tokens for servers without a browser: of a client of our own, and for people whom the team's issuer vouches for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ot.errors import ServerUnavailableError
from tests.http_programs import serve_http
from tests.proxied import open_proxied
from tests.team.browsers import Browsers
from tests.team.oidc.openid_provider import (
    DASHBOARD_CLIENT,
    DASHBOARD_SECRET,
    MACHINE_CLIENT,
    MACHINE_SECRET,
    OpenIdProvider,
    run_openid_provider,
)
from tests.team.team_server import TeamServer, serve_team

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("team")]


@pytest.fixture(scope="module")
def issuer(openid_provider: OpenIdProvider) -> Iterator[OpenIdProvider]:
    """The issuer of the servers, which trusts that of the team."""
    with run_openid_provider(trusts=openid_provider.issuer) as provider:
        yield provider


def settings(url: str, issuer: str, grant: str) -> dict[str, object]:
    client = {"client_id": MACHINE_CLIENT, "client_secret": MACHINE_SECRET, "scope": "mcp"}
    return {"url": url, "oauth": {"grant": grant, "issuer": issuer, **client}}


async def test_a_client_of_our_own_gets_tokens_without_a_person(issuer: OpenIdProvider, tmp_path: Path) -> None:
    with serve_http(issuer.issuer, program="trusts_issuer") as url:
        for _ in range(2):  # the second time with the token that was kept
            async with open_proxied(
                tmp_path, {"crm": settings(url, issuer.issuer, "client_credentials")}, security={"pin_tools": False}
            ) as proxied:
                told = await proxied.call("crm.who")

    assert json.loads(told) == {"person": MACHINE_CLIENT, "client": MACHINE_CLIENT, "scope": "mcp"}


async def test_a_server_that_names_another_issuer_changes_nothing(issuer: OpenIdProvider, tmp_path: Path) -> None:
    elsewhere = {"NAMED_ISSUER": "http://127.0.0.1:9"}
    with serve_http(issuer.issuer, program="trusts_issuer", environ=elsewhere) as url:
        crm = settings(url, issuer.issuer, "client_credentials")
        async with open_proxied(tmp_path, {"crm": crm}, security={"pin_tools": False}) as proxied:
            assert json.loads(await proxied.call("crm.who"))["client"] == MACHINE_CLIENT


async def test_a_machine_of_ones_own_has_no_issuer_of_a_team(issuer: OpenIdProvider, tmp_path: Path) -> None:
    with serve_http(issuer.issuer, program="trusts_issuer") as url:
        async with open_proxied(tmp_path, {"crm": settings(url, issuer.issuer, "enterprise")}) as proxied:
            with pytest.raises(ServerUnavailableError) as caught:
                await proxied.call("crm.who")
    assert caught.value.reason == "is for people who log in at a team's issuer, and this server has none"


@pytest.fixture(scope="module")
def server(
    openid_provider: OpenIdProvider, issuer: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TeamServer]:
    auth = {"issuer": openid_provider.issuer, "client_id": DASHBOARD_CLIENT, "client_secret": DASHBOARD_SECRET}
    with serve_http(issuer.issuer, program="trusts_issuer") as url:
        config = {"servers": {"crm": settings(url, issuer.issuer, "enterprise")}, "security": {"pin_tools": False}}
        with serve_team(tmp_path_factory.mktemp("team"), auth=auth, config=config) as started:
            yield started


async def ask_who(server: TeamServer, provider: OpenIdProvider, name: str) -> str:
    return await server.run(
        provider.token(name, resource=server.url),
        "try:\n    print(crm.who())\nexcept Exception as error:\n    print(error)",
    )


async def test_people_get_tokens_by_their_own_login(server: TeamServer, openid_provider: OpenIdProvider) -> None:
    with ExitStack() as stack:
        browsers = Browsers(server, openid_provider, stack)
        browsers.log_in("ann")
        browsers.log_in("bob")

    ann, bob = await ask_who(server, openid_provider, "ann"), await ask_who(server, openid_provider, "bob")
    assert '"person": "ann"' in ann
    assert '"person": "bob"' in bob
    kept = [file.read_text() for file in server.folder.rglob("servers/tokens/*.json")]
    assert kept
    assert {text.partition(".")[0] for text in kept} == {"sealed1"}
    assert "eyJ" not in server.log, "a token in the log"


async def test_whoever_has_not_logged_in_is_asked_to(server: TeamServer, openid_provider: OpenIdProvider) -> None:
    said = await ask_who(server, openid_provider, "eve")

    assert "needs you to be logged in to the dashboard" in said
    assert f"Log in at {server.public_url}/servers" in said


async def test_the_issuer_of_the_team_decides(server: TeamServer, openid_provider: OpenIdProvider) -> None:
    openid_provider.token("mal", resource=None, groups=["outsiders"])
    with ExitStack() as stack:
        Browsers(server, openid_provider, stack).log_in("mal")

    said = await ask_who(server, openid_provider, "mal")

    assert "does not vouch for you here (status 400: access_denied)" in said
