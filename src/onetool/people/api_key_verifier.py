"""API keys as credentials: the machine that uses a key is a person of the issuer `onetool`."""

from __future__ import annotations

import time
from collections.abc import Callable

from onetool.people.refusal import KeysUnavailableError, RefusedError
from ot.clients.person import KEYS_ISSUER, Person
from ot.store.api_keys import ApiKey, ApiKeys, split_key
from ot.store.sealing import digest_of

_WRONG = (
    "This API key is not valid: it was revoked, has expired, or never existed. Ask the server's operator for a new one."
)
_NOBODY = ApiKey("", "", (), digest_of(""), 0.0, 0.0)  # compared with where there is no such key, which takes as long


class ApiKeyVerifier:
    """Authenticates machines by their keys."""

    def __init__(self, keys: ApiKeys, *, clock: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._clock = clock

    async def verify(self, token: str) -> Person:
        """Return whose key it is; raises RefusedError."""
        key_id, secret = split_key(token)
        try:
            key = await self._keys.find(key_id) or _NOBODY
        except OSError as error:
            raise KeysUnavailableError(f"API keys cannot be checked at present: {error.strerror}.") from error
        if not key.opens_with(secret, now=self._clock()):
            raise RefusedError(_WRONG)
        return Person(KEYS_ISSUER, key.name, key.name, frozenset(key.groups))
