"""Sealing: what is kept of people's secrets can be read with the keys of the server alone, and only in its own place.

Sealed text names its key, so that keys can be replaced: the first key of a ring seals, every key of it opens. The place
of a value is sealed with it: a row that is copied to another person's, or to another name, opens no longer.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import lock
from mcp_core.private_files import open_lock
from mcp_core.quick_dataclass import dataclass, field
from ot.errors import MissingExtraError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LOGIN, SECRETS = "login", "secrets"  # the kinds of what is sealed: people's logins, and their own secrets
SECRETS_DOCUMENT = "secrets.sealed"
PATIENCE = 60.0  # seconds to wait for another process that renews a login

KEY_BYTES = 32
_FORM = "sealed1"
_NONCE_BYTES = 12


class SealError(Exception):
    """Sealed text cannot be opened; its words say why, and quote nothing of it."""


class Sealer:
    """A ring of keys. Without any key it can neither seal nor open."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Take the keys as `new_key` gives them, the one that seals first; raises ValueError."""
        self._keys = {key_id(key): _decode_key(key) for key in keys}
        self._ciphers: dict[str, AESGCM] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the keys, which tell nothing of them; the one that seals first."""
        return tuple(self._keys)

    def seal(self, data: bytes, *, place: str) -> str:
        """Seal something for its place; raises SealError where there is no key."""
        if not self._keys:
            raise SealError("there is no key to seal it with")
        name, nonce = self.ids[0], os.urandom(_NONCE_BYTES)
        sealed = self._cipher(name).encrypt(nonce, data, _bound(name, place))
        return f"{_FORM}.{name}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, text: str, *, place: str) -> bytes:
        """Return what was sealed for this place; raises SealError."""
        name = sealed_with(text)
        if name not in self._keys:
            raise SealError(f"it was sealed with the key {name}, which this server does not have")
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - the extra `team`

        try:
            content = base64.b64decode(text.split(".")[2], altchars=b"-_", validate=True)
            return self._cipher(name).decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], _bound(name, place))
        except (InvalidTag, ValueError) as error:
            raise SealError("it was modified, or was sealed for a different place") from error

    def reseal(self, text: str, *, place: str) -> str | None:
        """Return text sealed with the key that seals now; None where it is. Raises SealError."""
        return None if self.is_current(text) else self.seal(self.open(text, place=place), place=place)

    def is_current(self, text: str) -> bool:
        return bool(self._keys) and sealed_with(text) == self.ids[0]

    def _cipher(self, name: str) -> AESGCM:
        if name not in self._ciphers:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - the extra `team`
            except ImportError as error:
                raise MissingExtraError("sealing", "team") from error
            self._ciphers[name] = AESGCM(self._keys[name])
        return self._ciphers[name]


def place_of(kind: str, person: str, name: str = "") -> str:
    """Return the place of something that is one person's, given `digest_of_person`."""
    return f"{kind}\0{person}\0{name}"


def digest_of(text: str) -> str:
    """Return the digest under which something secret is kept, such as a session or a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_person(principal: str) -> str:
    """Return a short digest of a principal, which also names their folder."""
    return digest_of(principal)[:32]


def new_key() -> str:
    """Make a key: 32 random bytes, as text that fits a variable."""
    return base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def key_id(key: str) -> str:
    """Return the name of a key: the same everywhere, and of no help in guessing the key."""
    return hashlib.sha256(b"onetool key\0" + _decode_key(key)).hexdigest()[:12]


def sealed_with(text: str) -> str:
    """Return the name of the key that text is sealed with; raises SealError for text that is not sealed."""
    parts = text.split(".")
    if len(parts) != 3 or parts[0] != _FORM:
        raise SealError("it is not sealed, or was sealed by a newer OneTool")
    return parts[1]


def begins_with(key: str) -> bytes:
    """Return how everything begins that is sealed with the key of this name."""
    return f"{_FORM}.{key}.".encode()


def _bound(name: str, place: str) -> bytes:
    return f"{_FORM}\0{name}\0{place}".encode("utf-8", "surrogatepass")


def _decode_key(key: str) -> bytes:
    try:
        found = base64.b64decode(key.strip(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != KEY_BYTES:
        raise ValueError(f"a key is {KEY_BYTES} random bytes in base64, as `onetool seal key` prints them")
    return found


@dataclass(slots=True)
class Resealed:
    """Counts of what was sealed again and what already was, and the reasons why the rest could not be opened."""

    anew: int = 0
    already: int = 0
    waiting: int = 0  # files of undo data that need older keys until they are forgotten
    failed: list[str] = field(default_factory=list)

    def seal(self, sealer: Sealer, text: str, place: str, keep: Callable[[str], None]) -> None:
        """Seal one thing again, unless it is sealed with the current key, and store it."""
        try:
            fresh = sealer.reseal(text, place=place)
        except SealError as error:
            self.failed.append(str(error))
            return
        if fresh is None:
            self.already += 1
        else:
            keep(fresh)
            self.anew += 1


def reseal_files(people: Path, sealer: Sealer) -> Resealed:
    """Seal all in people's folders, named by their digests, so that older keys can be removed. Raises OSError."""
    found = Resealed()
    for state in sorted(people.glob("*/.onetool/state")):
        person, logins = state.parent.parent.name, sorted((state / "servers" / "tokens").glob("*.json"))
        sealed = [(file, place_of(LOGIN, person, file.stem)) for file in logins]
        if (secrets := state / SECRETS_DOCUMENT).exists():
            sealed.append((secrets, place_of(SECRETS, person)))
        for file, place in sealed:
            with open_lock(file.with_suffix(".lock")) as held:
                lock(held.fileno(), patience=PATIENCE)
                found.seal(sealer, file.read_text(errors="replace"), place, partial(write_private, file))
        older = [begins_with(key) for key in sealer.ids[1:]]
        changes = (state / "undo").glob("*.changes")
        found.waiting += sum(any(key in data for key in older) for data in (each.read_bytes() for each in changes))
    return found
