"""The keys of a server that seal secrets and logins: those of its configuration, or of a file with one key a line."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_core.atomic_write import write_private
from ot.config.documents import require_closed_to_others
from ot.config.models import Config
from ot.config.team import EMBEDDED_STORE
from ot.errors import ConfigError
from ot.store.sealing import Sealer, new_key

KEYS_FILE = "seal.keys"
_MOST_BYTES = 64 * 1024


def load_sealer(config: Config, state: Path) -> Sealer:
    """Return the ring of keys; raises ConfigError. With the embedded store, a first key is made where there is none."""
    if config.seal.keys:
        return Sealer(config.seal.keys)
    if config.seal.file is None and config.store != EMBEDDED_STORE:
        raise ConfigError(
            "a store that replicas share needs keys to encrypt people's secrets",
            key="seal.keys",
            fix="print one with `onetool seal key`, and give it to every replica as ONETOOL_SEAL_KEYS",
        )
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
