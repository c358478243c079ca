"""Files of ours that only their owner may read, and that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(file: Path, text: str) -> None:
    """Put a file in place of whatever has its name; raises OSError."""
    draft = _write_draft(file, text)
    try:
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def create_private(file: Path, text: str) -> bool:
    """Put a file where none is; False if another was first. Raises OSError."""
    draft = _write_draft(file, text)
    try:
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _write_draft(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
