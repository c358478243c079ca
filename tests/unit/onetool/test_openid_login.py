"""Logins at an issuer: what strangers begin does not have us ask the issuer each time."""

from __future__ import annotations

import pytest

from mcp_core.json_types import JsonObject
from onetool.dashboard.logins import LoginError
from onetool.dashboard.openid import OpenIdLogin
from onetool.dashboard.tickets import address_of
from ot.config.team import AuthSettings

pytestmark = pytest.mark.anyio

URL, ISSUER = "https://tool.example", "https://login.example"


class Issuer:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.gone = False
        self.now = 1000.0

    def describe(self, issuer: str) -> JsonObject:
        self.asked += 1
        if self.gone:
            raise ValueError("nobody answers")
        return {"issuer": issuer, "authorization_endpoint": f"{issuer}/auth"}


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def openid(issuer: Issuer) -> OpenIdLogin:
    auth = AuthSettings(public_url=URL, issuer=ISSUER, client_id="dashboard")
    return OpenIdLogin(auth, address_of(URL, []), look_up=issuer.describe, clock=lambda: issuer.now)


async def test_many_who_begin_to_log_in_ask_the_issuer_once(openid: OpenIdLogin, issuer: Issuer) -> None:
    begun = [await openid.begin("/") for _ in range(20)]

    assert issuer.asked == 1
    assert all(where.startswith(f"{ISSUER}/auth?") for where, _ in begun)
    assert len({facts["state"] for _, facts in begun}) == 20


async def test_an_issuer_that_is_gone_is_not_asked_for_each_of_them(openid: OpenIdLogin, issuer: Issuer) -> None:
    issuer.gone = True
    for _ in range(5):
        with pytest.raises(LoginError, match="nobody answers"):
            await openid.begin("/")
    assert issuer.asked == 1

    issuer.gone, issuer.now = False, issuer.now + 60
    assert (await openid.begin("/"))[0].startswith(ISSUER)
