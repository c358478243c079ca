"""A small disk that is full, mounted where only root can; tests that need one are skipped elsewhere, and say so."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mount_small_disk(place: Path, *, size: str = "1m") -> Iterator[Path]:
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"MISSING: the right to mount a small disk. {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> None:
    """Leave no byte on a disk."""
    with (disk / "filling").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(os.urandom(4096))
