"""Secrets that one of many people has set for themselves, sealed in the store, and the server's keys that seal them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_core.atomic_write import write_private
from mcp_core.known_secrets import SHORTEST
from mcp_core.quick_dataclass import replace
from ot.config.documents import require_closed_to_others
from ot.config.loader import LoadedConfig
from ot.config.models import Config
from ot.config.secrets import is_name
from ot.config.team import EMBEDDED_STORE
from ot.errors import ConfigError
from ot.logs import write_log
from ot.store.sealing import SECRETS, SECRETS_DOCUMENT, Sealer, SealError, digest_of_person, new_key, place_of
from ot.store.shelf import Shelf

MOST_SECRETS = 200
LONGEST_SECRET = 64 * 1024  # characters
KEYS_FILE = "seal.keys"
_MOST_BYTES = 64 * 1024


class PersonalSecrets:
    """Names and values, as one sealed document on a person's shelf. Writing blocks, and raises OSError or SealError."""

    def __init__(self, shelf: Shelf, principal: str, sealer: Callable[[], Sealer]) -> None:
        self._shelf = shelf
        self._principal = principal
        self._place = place_of(SECRETS, digest_of_person(principal))
        self._sealer = sealer

    def state(self) -> tuple[int, ...]:
        """Return something that changes with them, at the cost of a `stat`."""
        return self._shelf.state(SECRETS_DOCUMENT)

    def names(self) -> list[str]:
        return sorted(self.read())

    def read(self) -> dict[str, str]:
        """Return the values by name; none, and a line in the log, where they cannot be opened."""
        try:
            return self._open(self._shelf.read(SECRETS_DOCUMENT))
        except FileNotFoundError:
            return {}
        except (OSError, SealError) as error:
            write_log(logging.ERROR, "secrets.personal", reason=str(error))
            return {}

    def put(self, name: str, value: str) -> None:
        """Keep a secret, also in place of an earlier one; raises ValueError with words for the person."""
        if not is_name(name):
            allowed = "only letters, digits and _, and must not start with a digit"
            raise ValueError(f"the name of a secret may contain {allowed}")
        if not value or len(value) > LONGEST_SECRET:
            raise ValueError(f"a secret must have 1 to {LONGEST_SECRET:,} characters")
        if len(value) >= SHORTEST and value in self._principal:  # shorter ones are masked nowhere
            raise ValueError("a secret must not be part of your own name: the log would mask who you are")
        self._change(lambda known: {**known, name: value})

    def remove(self, name: str) -> None:
        """Forget a secret; one that is not there is no mistake."""
        self._change(lambda known: {each: value for each, value in known.items() if each != name})

    def _change(self, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        def sealed(before: bytes | None) -> bytes:
            found = change({} if before is None else self._open(before))
            if len(found) > MOST_SECRETS:
                raise ValueError(f"you already have {MOST_SECRETS} secrets; remove one first")
            return self._sealer().seal(json.dumps(dict(found)).encode(), place=self._place).encode()

        self._shelf.update(SECRETS_DOCUMENT, sealed)

    def _open(self, document: bytes) -> dict[str, str]:
        found = json.loads(self._sealer().open(document.decode(errors="replace"), place=self._place))
        return {str(name): str(value) for name, value in found.items()}


def with_own_secrets(loaded: LoadedConfig, own: PersonalSecrets) -> LoadedConfig:
    """Return a configuration in which a person's own secrets come before those that all have, also for servers."""
    values = own.read()
    if not values:
        return loaded
    secrets = loaded.secrets.overlaid(values)
    for value in secrets.known_values():
        loaded.redactor.learn(value)
    if loaded.asked.isdisjoint(values):
        return replace(loaded, secrets=secrets)
    filled = loaded.fill_in(values)
    return replace(loaded, secrets=secrets, config=filled.config, mistakes=filled.mistakes)


def load_sealer(config: Config, state: Path) -> Sealer:
    """Return the ring of keys; raises ConfigError. With the embedded store, a first key is made where there is none."""
    if config.seal.keys:
        return Sealer(config.seal.keys)
    if config.seal.file is None and config.store != EMBEDDED_STORE:
        fix = "print one with `onetool seal key`, and give it to every replica as ONETOOL_SEAL_KEYS"
        reason = "a store that replicas share needs keys to encrypt people's secrets"
        raise ConfigError(reason, key="seal.keys", fix=fix)
    file = keys_file(config, state)
    if config.seal.file is None:
        make_keys(file)
    return Sealer(read_keys(file))


def keys_file(config: Config, state: Path) -> Path:
    """Return the file that holds the keys, where none are in the configuration itself."""
    return config.seal.file or state / KEYS_FILE


def make_keys(file: Path) -> bool:
    """Write a file with a first key; False if there is one, also if another process was faster."""
    if file.exists():
        return False
    try:
        write_private(file, f"{new_key()}\n", replace=False)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unusable(file, error) from error
    return True


def read_keys(file: Path) -> list[str]:
    """Read the keys in a file, the one that seals first; raises ConfigError."""
    try:
        with file.open("rb") as opened:
            require_closed_to_others(file, os.fstat(opened.fileno()))
            lines = opened.read(_MOST_BYTES).decode().splitlines()
        keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        Sealer(keys)
    except OSError as error:
        raise _unusable(file, error) from error
    except ValueError as error:
        raise ConfigError("contains a line that is not a key", file=file, fix="write one key per line") from error
    if not keys:
        raise ConfigError("contains no key", file=file, fix="write one with `onetool seal rotate`")
    return keys


def write_keys(file: Path, keys: list[str]) -> None:
    """Write the keys of a file anew, the one that seals first; raises ConfigError."""
    try:
        write_private(file, "".join(f"{key}\n" for key in keys))
    except OSError as error:
        raise _unusable(file, error) from error


def _unusable(file: Path, error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    return ConfigError(f"cannot be used: {reason}", file=file, fix="create it with `onetool seal rotate`")
