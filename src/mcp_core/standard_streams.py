"""Stdin and stdout, taken for the protocol before anything else can use them."""

from __future__ import annotations

import os


def claim_standard_streams() -> tuple[int, int]:
    """Take stdin and stdout for the protocol, for good, and return the descriptors that carry it.

    Descriptor 0 becomes the null device and descriptor 1 stderr, so that no print, no child process and nothing
    that is flushed at exit can reach the client. Raises OSError where one of them is closed.
    """
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr itself is closed
        os.dup2(null, 1)
    os.close(null)
    return source, sink
