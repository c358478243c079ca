"""What tests of a team's server share: one OpenID provider and one server with a dashboard a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.team.browsers import KEY, Browsers
from tests.team.oidc.openid_provider import DASHBOARD_CLIENT, DASHBOARD_SECRET, OpenIdProvider, run_openid_provider
from tests.team.team_server import TeamServer, serve_team


@pytest.fixture(scope="session")
def openid_provider() -> Iterator[OpenIdProvider]:
    """A provider for all tests of a worker; mark them `xdist_group("team")`, so that one is enough."""
    with run_openid_provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def team_dashboard(openid_provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    """A server whose dashboard people log in to."""
    auth = {"issuer": openid_provider.issuer, "client_id": DASHBOARD_CLIENT, "client_secret": DASHBOARD_SECRET}
    away = {"url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "${AWAY_KEY}"}}
    config = {"seal": {"keys": [KEY]}, "servers": {"away": away}, "policy": {"ask": ["demo.bar"]}}
    with serve_team(tmp_path_factory.mktemp("team"), auth={**auth, "admins": ["ops"]}, config=config) as started:
        yield started


@pytest.fixture
def browsers(team_dashboard: TeamServer, openid_provider: OpenIdProvider) -> Iterator[Browsers]:
    with ExitStack() as stack:
        yield Browsers(team_dashboard, openid_provider, stack)
