"""The OpenID provider of the tests does what providers of teams do."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import pytest

from tests.team.oidc.openid_provider import DASHBOARD_CLIENT, DASHBOARD_SECRET, OpenIdProvider

pytestmark = pytest.mark.xdist_group("team")
_RESOURCE = "http://127.0.0.1:8000/mcp"
_CALLBACK = "http://127.0.0.1:8000/oauth/callback"


def test_a_persons_token_is_a_jwt_for_its_resource_with_their_groups(openid_provider: OpenIdProvider) -> None:
    keys = jwt.PyJWKSet.from_dict(openid_provider.client.get(f"{openid_provider.issuer}/jwks").json())

    token = openid_provider.token("ann", groups=["dev", "ops"], resource=_RESOURCE)

    claims = jwt.decode(
        token, keys[jwt.get_unverified_header(token)["kid"]], audience=_RESOURCE, issuer=openid_provider.issuer
    )
    assert (claims["sub"], claims["groups"]) == ("ann", ["dev", "ops"])


def test_refresh_tokens_of_a_login_work_once(openid_provider: OpenIdProvider) -> None:
    verifier = "a" * 43
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "client_id": DASHBOARD_CLIENT,
        "response_type": "code",
        "redirect_uri": _CALLBACK,
        "scope": "openid profile groups offline_access",
        "state": "s",
        "resource": _RESOURCE,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }

    def redeem(**form: str) -> tuple[int, dict[str, str]]:
        answer = openid_provider.client.post(
            f"{openid_provider.issuer}/token", data=form, auth=(DASHBOARD_CLIENT, DASHBOARD_SECRET)
        )
        return answer.status_code, answer.json()

    back = openid_provider.login(f"{openid_provider.issuer}/auth?{urlencode(asked)}", "bob")
    code = parse_qs(urlsplit(back).query)["code"][0]
    _, first = redeem(grant_type="authorization_code", code=code, redirect_uri=_CALLBACK, code_verifier=verifier)
    status, second = redeem(grant_type="refresh_token", refresh_token=first["refresh_token"])
    again, _ = redeem(grant_type="refresh_token", refresh_token=first["refresh_token"])

    assert back.startswith(_CALLBACK)
    assert jwt.decode(first["access_token"], options={"verify_signature": False})["aud"] == _RESOURCE
    assert jwt.decode(first["id_token"], options={"verify_signature": False})["name"] == "bob of the team"
    assert (status, again) == (200, 400)
    assert second["refresh_token"] != first["refresh_token"]
