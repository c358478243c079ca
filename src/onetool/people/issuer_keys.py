"""The keys with which an issuer signs tokens: fetched on a thread, cached, and fetched again for an unknown key."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import jwt

from mcp_core.json_types import JsonObject
from onetool.people.person_of import RefusedError, UnavailableError
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
                if self._choose(key_id) is None and self._may_ask(now):
                    await self._renew()
        elif now - self._fetched > _FRESH and self._may_ask(now):
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

    def _may_ask(self, now: float) -> bool:
        return now - self._tried > _PAUSE

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
        metadata = discover(client, issuer)
        where = metadata.get("jwks_uri")
        if not isinstance(where, str) or not is_safe(where):
            raise ValueError("its metadata have no jwks_uri that begins with https://")
        return _read_keys(_get(client, where))


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


def _read_keys(found: JsonObject) -> Keys:
    """Read the keys that sign; those of a kind that is not known are left out."""
    keys: dict[str, jwt.PyJWK] = {}
    entries = found.get("keys")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK.from_dict(entry)
        except jwt.PyJWTError:
            continue
        if key.algorithm_name in ALGORITHMS:
            keys[key.key_id or ""] = key
    if not keys:
        raise ValueError("it publishes no public key for signatures")
    return keys
