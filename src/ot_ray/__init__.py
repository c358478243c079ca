"""Workers on a Ray cluster, beyond the server: the driver that speaks to the cluster, and what runs on its nodes.

Standard library only, except for the driver, which imports Ray in a process and an environment of its own: losing the
head of a cluster ends drivers. The server sends this package to nodes, with `ot_sdk` and what that stands on, as a
bundle of files. An actor starts the ordinary worker with its guardian, and passes bytes, 64 kB at a time so that Ray's
object store is not needed. When Ray ends a process it kills its children first, so a shell stands between the actor
and the guardian (`programs`).
"""

from __future__ import annotations

from pathlib import Path


def driver_file() -> Path:
    """Return the program of the driver; it cannot be imported where there is no Ray."""
    return Path(__file__).parent / "driver.py"
