"""The bearer token of the HTTP server: every program of this machine can reach it, and only the person's may use it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from ot.config.environment import TOKEN_VARIABLE
from ot.errors import ConfigError

TOKEN_FILE = "http-token"
_SHORTEST = 16


def read_token(folder: Path, *, environ: Mapping[str, str]) -> str:
    """Give the token that the environment names, else that of the file in `folder`, which is made if there is none."""
    if given := environ.get(TOKEN_VARIABLE, "").strip():
        return _checked(given, key=TOKEN_VARIABLE)
    file = folder / TOKEN_FILE
    try:
        return _read(file)
    except FileNotFoundError:
        _create(file)
    return _read(file)


def accepts(header: str | None, token: str) -> bool:
    """Whether an Authorization header carries the token; takes the same time for every wrong one."""
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode())


def _create(file: Path) -> None:
    """Make the file appear whole, readable by its owner only; another server may do the same at this moment."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f"{TOKEN_FILE}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
        os.link(draft, file)
    except FileExistsError:
        return  # the other one was first, and its token is as good
    finally:
        draft.unlink()


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
