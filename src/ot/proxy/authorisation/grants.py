"""Tokens without a browser: of a client of our own, or for a person whom the team's issuer vouches for.

The configuration names the issuer, and neither a server nor its metadata leads to another one: nobody else gets the
client's password, or what was said about a person. No more permissions are asked for, or taken, than are configured.
"""

from __future__ import annotations

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import JWT_BEARER_GRANT_TYPE, OAuthClientMetadata, OAuthToken
from mcp.shared.auth_utils import resource_url_from_server_url
from pydantic import ValidationError

from ot.proxy import authorisation
from ot.proxy.authorisation.landing import Landing
from ot.proxy.authorisation.login import Login
from ot.proxy.authorisation.provider import Authorisation, origin_of
from ot.proxy.plan import ConnectionPlan

_METHODS = ("client_secret_basic", "client_secret_post")


class GrantAuthorisation(Authorisation):
    """Gets tokens by `client_credentials`, or by `enterprise`: the grant of ID-JAG, with an assertion by the issuer."""

    def __init__(
        self, url: str, metadata: OAuthClientMetadata, *, login: Login, landing: Landing, plan: ConnectionPlan
    ) -> None:
        super().__init__(url, metadata, login=login, landing=landing, plan=plan)
        self._plan = plan
        self._issuer = self._trusted = plan.settings.oauth.issuer or ""

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.auth_server_url = self._issuer

    def _select_authorization_server(self, advertised: list[str]) -> str:
        return self._issuer

    async def _perform_authorization(self) -> httpx2.Request:
        metadata = self.context.oauth_metadata
        if metadata is None or not issuers_match(str(metadata.issuer), self._issuer):
            raise OAuthFlowError(f"the issuer {self._issuer} does not describe itself")
        endpoint = str(metadata.token_endpoint)
        if origin_of(endpoint) != origin_of(self._issuer):
            raise OAuthFlowError(f"the issuer {self._issuer} sends us to another host for tokens")
        scope = self.context.client_metadata.scope = self._plan.settings.oauth.scope
        data = await self._grant(scope) | ({} if scope is None else {"scope": scope})
        client, offered = self.context.client_info, metadata.token_endpoint_auth_methods_supported
        if client is not None and offered is not None:
            client.token_endpoint_auth_method = next((each for each in _METHODS if each in offered), _METHODS[0])
        data, headers = self.context.prepare_token_auth(data, {})
        return httpx2.Request("POST", endpoint, data=data, headers=headers)

    async def _grant(self, scope: str | None) -> dict[str, str]:
        if self._plan.settings.oauth.grant == "client_credentials":
            return {"grant_type": "client_credentials", "resource": self.context.get_resource_url()}
        resource = resource_url_from_server_url(self.context.server_url)
        assertion = await authorisation.vouch(self._plan, audience=self._issuer, resource=resource, scope=scope)
        return {"grant_type": JWT_BEARER_GRANT_TYPE, "assertion": assertion, "resource": resource}

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        asked = self._plan.settings.oauth.scope
        if asked is not None and response.status_code in (200, 201):
            try:
                given = OAuthToken.model_validate_json(await response.aread()).scope or asked
            except ValidationError:
                given = asked  # it is refused below
            if more := sorted({*given.split()} - {*asked.split()}):
                raise OAuthFlowError(f"the issuer gave permissions that were not asked for: {' '.join(more)[:200]}")
        await super()._handle_token_response(response)
