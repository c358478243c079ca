"""Workers on a Ray cluster, beyond the server: the driver that speaks to the cluster, and what runs on its nodes.

Standard library only, except for the driver, which imports Ray in a process and an environment of its own. The server
sends this package to nodes, with `ot_sdk` and what that stands on, as a bundle of files.
"""

from __future__ import annotations

from pathlib import Path


def driver_file() -> Path:
    """Return the program of the driver; it cannot be imported where there is no Ray."""
    return Path(__file__).parent / "driver.py"
