"""Coverage of the processes that tests start: `make coverage` announces itself in the environment."""

from __future__ import annotations

import os

# For the environment of a process that otherwise inherits nothing; empty unless coverage is measured.
MEASURED = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
