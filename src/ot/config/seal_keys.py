"""The server's keys that seal people's secrets: given in the configuration, or in a file that is followed."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from mcp_core.atomic_write import write_file, write_private
from ot.config.documents import require_closed_to_others
from ot.config.models import Config
from ot.config.team import EMBEDDED_STORE
from ot.errors import ConfigError
from ot.logs import write_log
from ot.store.owned_files import state_of
from ot.store.sealing import Sealer, new_key

KEYS_FILE = "seal.keys"
_MOST_BYTES = 64 * 1024
_NEXT = "# next: "


class FollowedKeys:
    """Gives the ring of keys as it is now: a file of keys is read again when it has changed.

    Asking costs a `stat`. While the file cannot be read, the keys that were read last count.
    """

    def __init__(self, config: Config, state: Path) -> None:
        self._config = config
        self._state = state
        self._file = None if config.seal.keys else keys_file(config, state)
        self._seen: tuple[int, ...] = ()
        self._sealer: Sealer | None = None

    def __call__(self) -> Sealer:
        """Return them; raises ConfigError where there have never been any."""
        seen = () if self._file is None else state_of(self._file)
        if self._sealer is None:
            self._sealer = load_sealer(self._config, self._state)
            self._seen = seen
        elif self._file is not None and seen != self._seen:
            self._seen = seen
            try:
                self._sealer = Sealer(read_keys(self._file))
            except ConfigError as error:
                write_log(logging.ERROR, "seal.keys", file=self._file, reason=error.reason)
        return self._sealer


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


def next_key(file: Path) -> str:
    """Return the id of a key in the file that is known to replicas and seals nothing yet; empty if there is none."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(_NEXT):
            return line.removeprefix(_NEXT).strip()
    return ""


def write_keys(file: Path, keys: list[str], *, next_key: str = "") -> None:
    """Write the keys of a file again, the one that seals first; it keeps its owner and mode. Raises ConfigError."""
    try:
        write_file(
            file, "".join([*([f"{_NEXT}{next_key}\n"] if next_key else []), *(f"{key}\n" for key in keys)]).encode()
        )
    except OSError as error:
        raise _unusable(file, error) from error


def _unusable(file: Path, error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    return ConfigError(f"cannot be used: {reason}", file=file, fix="create it with `onetool seal rotate`")
