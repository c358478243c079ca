"""Browsers of the people of a team, each logged in at the OpenID provider."""

from __future__ import annotations

from contextlib import ExitStack

import httpx2

from ot.store.sealing import new_key
from tests.e2e.raw_server import WAIT
from tests.team.oidc.openid_provider import OpenIdProvider
from tests.team.team_server import TeamServer

KEY = new_key()
"""The key with which the server that tests share seals what it keeps."""


class Browsers:
    """Browsers that are closed when the test is over."""

    def __init__(self, server: TeamServer, provider: OpenIdProvider, stack: ExitStack) -> None:
        self._server = server
        self._provider = provider
        self._stack = stack

    def open(self, cookies: dict[str, str] | None = None) -> httpx2.Client:
        url = self._server.public_url
        client = httpx2.Client(base_url=url, timeout=WAIT, headers={"Origin": url}, cookies=cookies)
        return self._stack.enter_context(client)

    def log_in(self, name: str) -> httpx2.Client:
        """A browser of this person, with a session."""
        browser = self.open()
        sent = browser.get("/login")
        assert sent.status_code == 303, sent.text
        back = browser.get(self._provider.login(sent.headers["location"], name))
        assert back.status_code == 303, back.text
        return browser


def form_token(browser: httpx2.Client) -> str:
    """The word that forms of this session carry."""
    return browser.get("/").text.partition('name="form_token" value="')[2].partition('"')[0]
