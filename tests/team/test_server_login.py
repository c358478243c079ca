"""Logins of people at a server behind OneTool: begun on the dashboard, and ended by nobody else's browser."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest

from tests.http_programs import serve_http
from tests.team.browsers import Browsers
from tests.team.oidc.openid_provider import DASHBOARD_CLIENT, DASHBOARD_SECRET, OpenIdProvider
from tests.team.team_server import TeamServer, serve_team

pytestmark = pytest.mark.xdist_group("team")


@pytest.fixture
def server(openid_provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    auth = {"issuer": openid_provider.issuer, "client_id": DASHBOARD_CLIENT, "client_secret": DASHBOARD_SECRET}
    with (
        serve_http("login") as url,
        serve_team(tmp_path_factory.mktemp("team"), auth=auth, config={"servers": {"web": {"url": url}}}) as started,
    ):
        yield started


def begin(browser: httpx2.Client) -> str:
    """Ask for a login at the server, and return the address to which its provider sends the browser back."""
    found = re.search(r'name="form_token" value="([^"]+)"', browser.get("/servers/web").text)
    assert found is not None
    page = browser.post("/servers/web/login", data={"form_token": html.unescape(found[1])})
    address = re.search(r'href="(http[^"]+/authorize[^"]*)"', page.text)
    assert address is not None, page.text
    back: str = httpx2.get(html.unescape(address[1]), timeout=60).headers["location"]
    return back


def test_only_the_browser_of_the_person_who_began_a_login_ends_it(
    server: TeamServer, openid_provider: OpenIdProvider
) -> None:
    with ExitStack() as stack:
        browsers = Browsers(server, openid_provider, stack)
        ann, bob, nobody = browsers.log_in("ann"), browsers.log_in("bob"), browsers.open()
        back = begin(ann)
        assert back.startswith(f"{server.public_url}/oauth/callback?")

        assert bob.get(back).status_code == 400
        assert nobody.get(back).headers["location"].startswith(openid_provider.issuer)
        assert ann.get(back).headers["location"] == "/servers/web?done=returned"
        assert ann.get(back).status_code == 400

        deadline = time.monotonic() + 60
        while "echo" not in ann.get("/servers/web").text:
            assert time.monotonic() < deadline
        assert "echo" not in bob.get("/servers/web").text
    kept = [file.read_text() for file in server.folder.rglob("servers/tokens/*.json")]
    assert [text.partition(".")[0] for text in kept] == ["sealed1"]
