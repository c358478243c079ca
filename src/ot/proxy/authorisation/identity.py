"""A person's ID token of the team's issuer, exchanged for its assertion to the issuer of a server (ID-JAG).

The ID token is that of the person's login to the dashboard, kept sealed with their own logins. It goes back to the
issuer that made it, with the client that it was made for, and nowhere else; what comes of it is looked at before it is
passed on, since an issuer could answer with a token for this server. Tokens that clients bring are never used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from urllib.parse import quote

import anyio.to_thread
import httpx2
import jwt
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    handle_auth_metadata_response,
    validate_metadata_issuer,
)

from mcp_core.json_types import Json, JsonObject
from ot.proxy.authorisation.provider import bounded, origin_of
from ot.proxy.plan import IDENTITY, ConnectionPlan, TeamIssuer, TeamLogins
from ot.proxy.status import ConnectFailedError
from ot.services.trusted_roots import trusted_roots

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
_ASSERTION = "urn:ietf:params:oauth:token-type:id-jag"
_KIND = "oauth-id-jag+jwt"
_TIMEOUT = 15.0  # seconds
_PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}


async def vouch(plan: ConnectionPlan, *, audience: str, resource: str, scope: str | None) -> str:
    """Return the issuer's word about a person, for another issuer; raises OAuthFlowError or ConnectFailedError."""
    logins = plan.logins
    if logins is None or logins.issuer is None:
        raise ConnectFailedError("is for people who log in at a team's issuer, and this server has none")
    token = await _read_id_token(plan, logins)
    plan.learn(token)
    asked = {
        "grant_type": _EXCHANGE,
        "requested_token_type": _ASSERTION,
        "audience": audience,
        "resource": resource,
        "subject_token": token,
        "subject_token_type": _ID_TOKEN,
    } | ({} if scope is None else {"scope": scope})
    try:
        answer = await _exchange(logins.issuer, asked)
    except httpx2.HTTPError as error:
        raise OAuthFlowError(f"{logins.issuer.issuer} could not be asked: {type(error).__name__}") from error
    return _read_assertion(answer, plan, logins.issuer, audience)


async def _read_id_token(plan: ConnectionPlan, logins: TeamLogins) -> str:
    """Return the ID token of this person; raises ConnectFailedError if they have none that is good."""
    remedy = f"Log in at {logins.url.rstrip('/')}/servers, then call it again."
    found = await plan.credentials.read(IDENTITY)
    token = (found or {}).get("id_token")
    if not isinstance(token, str):
        raise ConnectFailedError("needs you to be logged in to the dashboard", remedy=remedy)
    claims = _unverified(token)  # it was verified when it came
    if json.dumps([claims.get("iss"), claims.get("sub")]) != json.dumps(json.loads(logins.principal)):
        raise ConnectFailedError("cannot use a login of somebody else", remedy=remedy)
    ends = claims.get("exp")
    if not isinstance(ends, int | float) or ends <= time.time():
        raise ConnectFailedError("needs you to log in to the dashboard again", remedy=remedy)
    return token


async def _exchange(issuer: TeamIssuer, asked: Mapping[str, str]) -> JsonObject:
    roots = await anyio.to_thread.run_sync(trusted_roots)
    data, auth = dict(asked), httpx2.Auth()
    if issuer.client_secret is None:
        data["client_id"] = issuer.client_id
    else:
        auth = httpx2.BasicAuth(quote(issuer.client_id, ""), quote(issuer.client_secret, ""))
    async with httpx2.AsyncClient(headers=_PLAIN, timeout=_TIMEOUT, verify=roots) as client:
        endpoint = await _find_endpoint(client, issuer.issuer)
        async with client.stream("POST", endpoint, data=data, auth=auth) as streamed:
            response = bounded(streamed)
            await response.aread()
    try:
        found: Json = response.json()
    except ValueError:
        found = None
    if response.status_code != httpx2.codes.OK or not isinstance(found, dict):
        reason = found.get("error") if isinstance(found, dict) else None
        said = f": {str(reason)[:100]}" if isinstance(reason, str) else ""
        raise OAuthFlowError(f"{issuer.issuer} does not vouch for you here (status {response.status_code}{said})")
    return found


async def _find_endpoint(client: httpx2.AsyncClient, issuer: str) -> str:
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
        async with client.stream("GET", url) as streamed:
            _, metadata = await handle_auth_metadata_response(bounded(streamed))
        if metadata is not None:
            validate_metadata_issuer(metadata, issuer)
            endpoint = str(metadata.token_endpoint)
            if origin_of(endpoint) != origin_of(issuer):
                raise OAuthFlowError(f"{issuer} sends us to another host for tokens")
            return endpoint
    raise OAuthFlowError(f"{issuer} does not describe itself")


def _read_assertion(answer: JsonObject, plan: ConnectionPlan, issuer: TeamIssuer, audience: str) -> str:
    """Return the assertion of an answer, if it is one for this audience and nothing else; raises OAuthFlowError."""
    found = answer.get("access_token")
    if not isinstance(found, str) or answer.get("issued_token_type") != _ASSERTION:
        raise OAuthFlowError(f"{issuer.issuer} answered with something else than an assertion (ID-JAG)")
    plan.learn(found)
    try:
        kind = str(jwt.get_unverified_header(found).get("typ", ""))
    except jwt.PyJWTError:
        kind = ""
    claims = _unverified(found)
    if kind.lower() != _KIND or claims.get("iss") != issuer.issuer or claims.get("aud") not in (audience, [audience]):
        raise OAuthFlowError(f"{issuer.issuer} answered with an assertion (ID-JAG) that is not for {audience}")
    return found


def _unverified(token: str) -> JsonObject:
    """Return the claims of a token without a look at its signature; none if it is no JWT."""
    try:
        claims: JsonObject = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return {}
    return claims
