"""Holes in files: stretches that were never written, read as null bytes, and take no time to skip."""

from __future__ import annotations

import errno
import os


def next_data(descriptor: int, place: int, size: int) -> int:
    """Return where data begins, from a place on: there, or after the hole; `size` if only a hole is left."""
    try:
        return min(size, os.lseek(descriptor, place, os.SEEK_DATA))
    except OSError as error:
        return size if error.errno == errno.ENXIO else place  # a file system that knows of no holes
