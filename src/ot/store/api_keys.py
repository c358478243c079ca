"""API keys of machines: kept as digests, each with the name that it was made for, its groups and its end."""

from __future__ import annotations

import errno
import json
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import hold
from mcp_core.json_types import Json
from mcp_core.quick_dataclass import dataclass, replace
from ot.store.forms import FORM, check_form, read_list, read_mapping, read_record
from ot.store.owned_files import state_of
from ot.store.sealing import digest_of

PREFIX = "onetool_"  # the beginning of every key, by which people and scanners for leaked secrets know one
KEYS_FILE = "api-keys.json"
_FORM = 1
_PATIENCE = 10.0  # seconds for another process that writes here
_ID_BYTES, _SECRET_BYTES = 6, 32


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key, as it is stored; times in seconds since 1970."""

    id: str
    name: str
    groups: tuple[str, ...]
    digest: str  # of a secret with 256 random bits, which needs no salt and no slow hash
    created: float
    expires: float

    def opens_with(self, secret: str, *, now: float) -> bool:
        """True if this is the key's secret and its time is not over; equally long for every wrong secret."""
        return secrets.compare_digest(self.digest, digest_of(secret)) and now < self.expires


class ApiKeys(Protocol):
    """All keys. What is not a coroutine blocks; raises OSError where the store cannot be used."""

    async def find(self, key_id: str) -> ApiKey | None: ...
    def add(self, key: ApiKey) -> None: ...
    def entries(self) -> Sequence[ApiKey]: ...
    def remove(self, key_id: str) -> None: ...


def new_key(name: str, *, groups: Sequence[str], now: float, lifetime: float) -> tuple[ApiKey, str]:
    """Make a key, and the text that its owner keeps: nobody can make that out again."""
    key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    key = ApiKey(key_id, name, tuple(groups), digest_of(secret), now, now + lifetime)
    return key, f"{PREFIX}{key_id}_{secret}"


def split_key(text: str) -> tuple[str, str]:
    """Split the text of a key into its id and its secret; both are empty if it is none."""
    key_id, _, secret = text.removeprefix(PREFIX).partition("_")
    return (key_id, secret) if text.startswith(PREFIX) and key_id and secret else ("", "")


class EmbeddedApiKeys:
    """Keys in one small file; a server notices when a command has changed it."""

    def __init__(self, state: Path) -> None:
        self._file = state / KEYS_FILE
        self._read: tuple[tuple[int, ...], dict[str, ApiKey]] = (), {}

    async def find(self, key_id: str) -> ApiKey | None:
        return self._load().get(key_id)

    def add(self, key: ApiKey) -> None:
        with self._locked():
            self._write({**self._load(), key.id: key})

    def entries(self) -> Sequence[ApiKey]:
        """Return all keys, the oldest first."""
        return sorted(self._load().values(), key=lambda key: key.created)

    def remove(self, key_id: str) -> None:
        """Forget a key; it opens nothing from now on."""
        with self._locked():
            self._write({known: key for known, key in self._load().items() if known != key_id})

    def _load(self) -> dict[str, ApiKey]:
        if not (state := state_of(self._file)):
            return {}
        if self._read[0] != state:
            self._read = state, self._parse(self._file.read_bytes())
        return self._read[1]

    def _parse(self, data: bytes) -> dict[str, ApiKey]:
        try:
            entries = check_form(json.loads(data), _FORM)["keys"]
            keys = [_read_key(entry) for entry in read_list(entries)]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise OSError(errno.EINVAL, f"it cannot be read: {error}", str(self._file)) from error
        return {key.id: key for key in keys}

    def _write(self, keys: dict[str, ApiKey]) -> None:
        write_private(self._file, json.dumps({FORM: _FORM, "keys": [asdict(key) for key in keys.values()]}))

    def _locked(self) -> AbstractContextManager[None]:
        return hold(self._file.with_suffix(".lock"), patience=_PATIENCE)


def _read_key(entry: Json) -> ApiKey:
    fields = read_mapping(entry)
    return replace(read_record(ApiKey, fields), groups=tuple(map(str, read_list(fields.get("groups")))))
