"""`python -m onetool` and the `onetool` program."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onetool.porch.start import ServeBehind


def main() -> int:
    """Run the command, and return the exit status."""
    arguments = sys.argv[1:]
    if not arguments or "serve" in arguments:
        from onetool.porch.start import find_entry, serve_from_porch

        entry = find_entry(arguments, os.environ)
        try:
            if entry is not None and serve_from_porch(entry, partial(_load_serving, arguments)):
                return 0
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is none of those with a status
            from onetool.cli import status_of

            return status_of(error)
    from onetool.cli import main as run_command

    return run_command(arguments)


def _load_serving(arguments: list[str]) -> ServeBehind:
    from onetool.cli.serve_stdio import load_behind_porch

    return load_behind_porch(arguments)


if __name__ == "__main__":
    sys.exit(main())
