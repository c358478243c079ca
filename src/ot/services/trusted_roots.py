"""The certificates that connections trust, loaded once, because that takes longer than most requests."""

from __future__ import annotations

import functools
import ssl

import httpx2


@functools.cache
def trusted_roots() -> ssl.SSLContext:
    """Return the certificates of the system, or those that the environment names."""
    return httpx2.create_ssl_context()
