"""`python -m onetool` and the `onetool` program."""

from __future__ import annotations

import sys

from onetool.cli import main as run_command


def main() -> int:
    """Run the command, and return the exit status."""
    return run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
