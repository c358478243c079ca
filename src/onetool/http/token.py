"""The bearer token of the HTTP server: every program of this machine can reach it, and only the person's may use it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mcp_core.atomic_write import write_private
from ot.config.layers import TOKEN_VARIABLE
from ot.errors import ConfigError

TOKEN_FILE = "http-token"
_SHORTEST = 16


def read_token(folder: Path, *, environ: Mapping[str, str]) -> str:
    """Return the token that the environment names, else that of the file in `folder`, which is made if need be."""
    if given := environ.get(TOKEN_VARIABLE, "").strip():
        return _checked(given, key=TOKEN_VARIABLE)
    file = folder / TOKEN_FILE
    try:
        return _read(file)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another server was first, and its token is as good
            write_private(file, f"{secrets.token_urlsafe(32)}\n", replace=False)
    return _read(file)


def accepts(header: str | None, token: str) -> bool:
    """True if an Authorization header carries the token; takes the same time for every wrong one."""
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode())


def _read(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file, fix="remove it; a new one is made") from error
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
        found = os.fstat(stream.fileno())
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise ConfigError("others can read this token", file=file, fix="remove it; a new one is made")
        return _checked(stream.read().strip(), file=file)


def _checked(token: str, *, file: Path | None = None, key: str | None = None) -> str:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"a token is at least {_SHORTEST} plain characters", file=file, key=key, fix="make it longer")
    return token
