"""The authorisation of one connection, by the settings of its server."""

from __future__ import annotations

import httpx2
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from ot.proxy import authorisation
from ot.proxy.authorisation.landing import Landing, LoginListener, TeamLanding
from ot.proxy.authorisation.login import open_login
from ot.proxy.authorisation.provider import Authorisation
from ot.proxy.plan import PATIENCE, ConnectionPlan


async def build_authorisation(plan: ConnectionPlan) -> httpx2.Auth | None:
    """Build what authorises requests; None if the settings bring a header of their own. Raises OSError."""
    settings = plan.settings
    if settings.url is None or any(name.lower() == "authorization" for name in settings.headers):
        return None
    login = await open_login(plan.credentials, plan.place, settings=settings.oauth, learn=plan.learn)
    landing: Landing = (
        LoginListener(login.port, patience=PATIENCE) if plan.logins is None else TeamLanding(plan.logins, plan.server)
    )
    login.returns_to = landing.address
    metadata = OAuthClientMetadata(
        client_name="OneTool",
        redirect_uris=[AnyUrl(landing.address)],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=settings.oauth.scope,
    )
    kind = Authorisation if settings.oauth.grant == "login" else authorisation.GrantAuthorisation
    return kind(settings.url, metadata, login=login, landing=landing, plan=plan)
