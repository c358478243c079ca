"""Logins with OpenID Connect: authorization code with PKCE, state and nonce, and a verified ID token."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

import anyio
import anyio.to_thread
import httpx2
import jwt

from mcp_core.json_types import Json, JsonObject
from onetool.dashboard.logins import CALLBACK, LoginError
from onetool.dashboard.tickets import Address
from onetool.people.person_of import RefusedError
from onetool.people.tokens import ALGORITHMS, IssuerKeys, discover, read_person
from ot.clients.person import Person
from ot.config.team import AuthSettings, is_safe
from ot.services.trusted_roots import trusted_roots

_SCOPE = "openid profile email"
_TIMEOUT = 15.0  # seconds
_LEEWAY = 30  # seconds by which clocks may differ
_FRESH = 600.0  # seconds for which metadata are not fetched again
_PAUSE = 5.0  # seconds until an issuer that did not answer is asked again
_AT_ONCE = 8  # threads


def look_up(issuer: str) -> JsonObject:
    """Fetch an issuer's metadata; raises httpx2.HTTPError or ValueError. Blocking."""
    with _open_client() as client:
        return discover(client, issuer)


def _open_client() -> httpx2.Client:
    return httpx2.Client(verify=trusted_roots(), timeout=_TIMEOUT)


class LoggedIn(NamedTuple):
    """A person whom the issuer has confirmed, and its ID token about them."""

    person: Person
    id_token: str


class OpenIdLogin:
    """Sends browsers to the issuer, and verifies those that come back."""

    def __init__(
        self,
        auth: AuthSettings,
        address: Address,
        *,
        look_up: Callable[[str], JsonObject] = look_up,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        assert auth.issuer is not None
        self._look_up = look_up
        self._clock = clock
        self.issuer = auth.issuer
        self._auth = auth
        self._callback = f"{address.url}{CALLBACK}"
        self._keys = IssuerKeys(auth.issuer)
        self._metadata: JsonObject = {}
        self._problem = ""
        self._asked = float("-inf")
        self._turn = anyio.Lock()
        # Strangers can start logins: a slow issuer must not occupy the threads that others need.
        self._threads = anyio.CapacityLimiter(_AT_ONCE)

    async def begin(self, path: str) -> tuple[str, dict[str, str]]:
        """Return where to send the browser, and the facts needed when it comes back. Raises LoginError."""
        metadata = await self._discover()
        facts = {name: secrets.token_urlsafe(32) for name in ("state", "nonce", "verifier")}
        groups, scopes = self._auth.groups_claim, metadata.get("scopes_supported")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(facts["verifier"].encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._auth.client_id or "",
            "redirect_uri": self._callback,
            "scope": f"{_SCOPE} {groups}" if isinstance(scopes, list) and groups in scopes else _SCOPE,
            "state": facts["state"],
            "nonce": facts["nonce"],
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        where = _endpoint(metadata, "authorization_endpoint")
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}", {**facts, "path": path}

    async def finish(self, facts: Mapping[str, str], query: Mapping[str, str]) -> LoggedIn:
        """Return who has come back; raises LoginError."""
        if not hmac.compare_digest(query.get("state", "").encode(), facts["state"].encode()):
            raise LoginError("This login was started in another browser.")
        if query.get("iss", self.issuer) != self.issuer:
            raise LoginError("This answer comes from another issuer.")
        if "error" in query:
            raise LoginError(f"The login was refused: {(query.get('error_description') or query['error'])[:300]}")
        metadata = await self._discover()
        try:
            code, verifier = query.get("code", ""), facts["verifier"]
            tokens = await anyio.to_thread.run_sync(self._redeem, metadata, code, verifier, limiter=self._threads)
            claims = await self._verify(str(tokens.get("id_token", "")), facts["nonce"])
            if self._auth.groups_claim not in claims and "userinfo_endpoint" in metadata:
                asked = metadata, tokens, str(claims["sub"])
                claims = {**await anyio.to_thread.run_sync(self._ask, *asked, limiter=self._threads), **claims}
            person = read_person(claims, issuer=self.issuer, groups_claim=self._auth.groups_claim)
            return LoggedIn(person, str(tokens["id_token"]))
        except (httpx2.HTTPError, ValueError, RefusedError) as error:
            raise LoginError(f"{self.issuer} did not confirm the login: {error}") from error

    async def _discover(self) -> JsonObject:
        """Return the issuer's metadata; it is fetched once for all logins within a while."""
        async with self._turn:
            now = self._clock()
            if now - self._asked > (_FRESH if self._metadata else _PAUSE):
                self._asked = now
                try:  # the old ones stay if that fails
                    self._metadata = await anyio.to_thread.run_sync(self._look_up, self.issuer, limiter=self._threads)
                except (httpx2.HTTPError, ValueError) as error:
                    self._problem = str(error) or type(error).__name__
        if not self._metadata:
            raise LoginError(f"{self.issuer} cannot be reached: {self._problem}")
        return self._metadata

    def _redeem(self, metadata: JsonObject, code: str, verifier: str) -> JsonObject:
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "code_verifier": verifier,
            "client_id": self._auth.client_id or "",
        }
        secret = self._auth.client_secret
        known = None if secret is None else httpx2.BasicAuth(quote(asked.pop("client_id"), ""), quote(secret, ""))
        with _open_client() as client:
            answer = client.post(_endpoint(metadata, "token_endpoint"), data=asked, auth=known or httpx2.Auth())
        return _read_object(answer)

    def _ask(self, metadata: JsonObject, tokens: JsonObject, subject: str) -> JsonObject:
        headers = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        with _open_client() as client:
            found = _read_object(client.get(_endpoint(metadata, "userinfo_endpoint"), headers=headers))
        if found.get("sub") != subject:
            raise ValueError("it is about another person")
        return found

    async def _verify(self, token: str, nonce: str) -> JsonObject:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                raise LoginError("The ID token is not signed with a public key.")
            key = await self._keys.find(header.get("kid"))
            claims: JsonObject = jwt.decode(
                token,
                key.key,
                algorithms=[header["alg"]],
                audience=self._auth.client_id,
                issuer=self.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
            )
        except jwt.PyJWTError as error:
            raise LoginError(f"The ID token cannot be accepted: {error}") from error
        except RefusedError as error:
            raise LoginError(str(error)) from error
        if claims.get("azp", self._auth.client_id) != self._auth.client_id:
            raise LoginError("The ID token was made for another client.")
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise LoginError("The ID token belongs to another login.")
        return claims


def _endpoint(metadata: JsonObject, name: str) -> str:
    where = metadata.get(name)
    if not isinstance(where, str) or not is_safe(where):
        raise LoginError(f"The issuer has no {name} that begins with https://.")
    return where


def _read_object(answer: httpx2.Response) -> JsonObject:
    answer.raise_for_status()
    found: Json = answer.json()
    if not isinstance(found, dict):
        raise ValueError("its answer is not a JSON object")
    return found
