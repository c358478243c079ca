"""Homes of people as released versions have left them, which newer versions read: one archive for each version.

`python -m tests.homes.write` keeps one of this version, before it is released. Everything lies in PLACE, since state is
kept by where a project is; and whoever opens a home has the time at which it was kept, since state expires.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_core.file_lock import hold

HOMES = Path(__file__).parent
PLACE = Path("/tmp/onetool-kept-home")
PROJECT = PLACE / "project"
_THEN = """
import sys, time
now = time.time
time.time = lambda: now() + {shift!r}
from onetool.__main__ import main
sys.exit(main())
"""


@contextmanager
def opened_place() -> Iterator[None]:
    """Have the place, empty, for this process alone."""
    with hold(PLACE.with_suffix(".lock"), patience=300):
        shutil.rmtree(PLACE, ignore_errors=True)
        PROJECT.mkdir(parents=True)
        try:
            yield
        finally:
            shutil.rmtree(PLACE, ignore_errors=True)


def onetool(*words: str, shift: float = 0.0, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as that person, with a clock that is so many seconds ahead."""
    environ = {"HOME": str(PLACE), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-c", _THEN.format(shift=shift), *words], cwd=PROJECT, env=environ, input=stdin,
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
