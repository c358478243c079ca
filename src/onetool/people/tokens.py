"""Access tokens of the team's issuer, signed JWTs that were made for this server; and the issuer's keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import jwt

from mcp_core.json_types import JsonObject
from onetool.people.person_of import RefusedError, UnavailableError
from ot.clients.person import Person
from ot.config.team import is_safe
from ot.services.trusted_roots import trusted_roots

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)  # those with a public key: by one that is secret, anybody who can check a token could make one
_FRESH = 600.0  # seconds for which keys are not fetched again
_PAUSE = 10.0  # seconds between two fetches: tokens with made-up keys must not have us ask the issuer for ever
_TIMEOUT = 10.0  # seconds
_LARGEST = 1_000_000  # bytes of an answer
_DISCOVERY = ("{0}{1}/.well-known/openid-configuration", "{0}/.well-known/oauth-authorization-server{1}")

Keys = Mapping[str, jwt.PyJWK]  # by their id; a key without one has an empty id


class IssuerKeys:
    def __init__(
        self, issuer: str, *, fetch: Callable[[str], Keys] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._issuer = issuer
        self._fetch = fetch or fetch_keys
        self._clock = clock
        self._keys: Keys = {}
        self._fetched = self._tried = float("-inf")
        self._problem = ""
        self._turn = anyio.Lock()

    async def find(self, key_id: str | None) -> jwt.PyJWK:
        """Return the key of this id, or for none the only one; raises RefusedError."""
        now = self._clock()
        if self._choose(key_id) is None:
            async with self._turn:  # somebody before us may have brought it
                if self._choose(key_id) is None and now - self._tried > _PAUSE:
                    await self._renew()
        elif now - self._fetched > _FRESH and now - self._tried > _PAUSE:
            await self._renew()
        key = self._choose(key_id)
        if key is not None:
            return key
        if not self._keys:
            raise UnavailableError(
                f"The keys of {self._issuer} cannot be fetched ({self._problem}), so tokens cannot be verified."
            )
        raise RefusedError(f"{self._issuer} does not publish the key that signed this token.")

    def _choose(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is not None:
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    async def _renew(self) -> None:
        """Fetch the keys; those that were there stay if that fails."""
        self._tried = self._clock()  # at once, so that others go on with what there is
        try:
            self._keys = await anyio.to_thread.run_sync(self._fetch, self._issuer, abandon_on_cancel=True)
        except (httpx2.HTTPError, ValueError) as error:
            self._problem = str(error) or type(error).__name__
        else:
            self._fetched = self._clock()


def fetch_keys(issuer: str) -> Keys:
    """Fetch an issuer's keys; raises httpx2.HTTPError, or ValueError for what is no such thing. Blocking."""
    with httpx2.Client(verify=trusted_roots(), timeout=_TIMEOUT) as client:
        where = discover(client, issuer).get("jwks_uri")
        if not isinstance(where, str) or not is_safe(where):
            raise ValueError("its metadata have no jwks_uri that begins with https://")
        entries = _get(client, where).get("keys")
    keys: dict[str, jwt.PyJWK] = {}
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("use", "sig") == "sig":
            with suppress(jwt.PyJWTError):  # of a kind that is not known
                key = jwt.PyJWK.from_dict(entry)
                if key.algorithm_name in ALGORITHMS:
                    keys[key.key_id or ""] = key
    if not keys:
        raise ValueError("it publishes no public key for signatures")
    return keys


def discover(client: httpx2.Client, issuer: str) -> JsonObject:
    """Fetch an issuer's metadata, by OpenID Connect or OAuth; raises as `fetch_keys` does. Blocking."""
    split = urlsplit(issuer)
    base, path = f"{split.scheme}://{split.netloc}", split.path.rstrip("/")
    first, second = (pattern.format(base, path) for pattern in _DISCOVERY)
    try:
        metadata = _get(client, first)
    except httpx2.HTTPStatusError:
        metadata = _get(client, second)
    if metadata.get("issuer") != issuer:
        raise ValueError("its metadata belong to another issuer")
    return metadata


def _get(client: httpx2.Client, url: str) -> JsonObject:
    with client.stream("GET", url, headers={"Accept": "application/json"}) as answer:
        answer.raise_for_status()
        body = b""
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise ValueError(f"the answer of {url} is larger than {_LARGEST} bytes")
    found = httpx2.Response(answer.status_code, content=body).json()
    if not isinstance(found, dict):
        raise ValueError(f"the answer of {url} is not a JSON object")
    return found


_LEEWAY = 30  # seconds by which clocks may differ
_KINDS = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_NEEDED = ["exp", "iss", "aud", "sub"]
_LONGEST_SUBJECT = 255  # characters, as OpenID Connect has it: everything that is kept of a person is found by it


class TokenVerifier:
    def __init__(self, keys: IssuerKeys, *, issuer: str, audience: str, groups_claim: str) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._groups_claim = groups_claim

    async def verify(self, token: str) -> Person:
        """Return whose token it is; raises RefusedError."""
        algorithm, key_id = self._read_header(token)
        claims = self._read_claims(token, await self._keys.find(key_id), algorithm)
        if "cnf" in claims:
            raise RefusedError("This token is bound to a key of its client, so it is not accepted as a bearer token.")
        return read_person(claims, issuer=self._issuer, groups_claim=self._groups_claim)

    def _read_header(self, token: str) -> tuple[str, str | None]:
        try:
            header: JsonObject = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, UnicodeEncodeError):
            raise RefusedError(
                f"This token is not a JWT, so it cannot be verified here. {self._way_out}, in the form of a JWT."
            ) from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise RefusedError("This token is not signed with a public key, so anyone could have made it.")
        if str(header.get("typ", "jwt")).lower() not in _KINDS:
            raise RefusedError(f"This JWT is not an access token. {self._way_out}.")
        return algorithm, key_id if isinstance(key_id, str) else None

    def _read_claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> JsonObject:
        try:
            claims: JsonObject = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": _NEEDED, "enforce_minimum_key_length": True},
            )
        except jwt.ExpiredSignatureError:
            raise RefusedError("This token has expired. Get a new one, or log in again.") from None
        except jwt.ImmatureSignatureError:
            raise RefusedError(
                "This token is not valid yet: the clock of its issuer, or of this server, is wrong."
            ) from None
        except jwt.InvalidAudienceError:
            raise RefusedError(f"This token was made for another server. {self._way_out}.") from None
        except jwt.InvalidIssuerError:
            raise RefusedError(f"This token comes from another issuer. {self._way_out}.") from None
        except jwt.MissingRequiredClaimError as error:
            raise RefusedError(f"This token lacks the claim {error.claim}. {self._way_out}.") from None
        except (jwt.PyJWTError, TypeError):  # the latter where the key is of another kind than the token says
            raise RefusedError("The signature of this token is wrong.") from None
        return claims

    @property
    def _way_out(self) -> str:
        return f"Ask {self._issuer} for an access token for the resource {self._audience}"


def read_person(claims: JsonObject, *, issuer: str, groups_claim: str) -> Person:
    """Read who the claims of a verified token are about; raises RefusedError."""
    subject = str(claims["sub"])
    if not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise RefusedError(f"The claim sub of this token has {len(subject)} characters, not 1 to {_LONGEST_SUBJECT}.")
    names = (claims.get(key) for key in ("name", "preferred_username", "email"))
    name = next((each for each in names if isinstance(each, str)), subject)
    claim = claims.get(groups_claim)  # a list of names, or one name
    groups = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return Person(issuer, subject, name, frozenset(group for group in groups if isinstance(group, str) and group))
