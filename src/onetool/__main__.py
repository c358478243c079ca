"""`python -m onetool` and the `onetool` program."""

from __future__ import annotations

import sys

from onetool.cli import main

if __name__ == "__main__":
    sys.exit(main())
