"""Check the types of `src` for a system that is only partly served: no more mistakes than there were.

    python -m scripts.types_elsewhere SYSTEM MOST

`ot_system` is where a system is taught what it does differently. The bound only goes down.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def main(system: str, most: int) -> int:
    """Print how many mistakes mypy finds for a system, and all of them where they are more than there may be."""
    done = subprocess.run(
        [Path(sys.executable).with_name("mypy"), "--platform", system, "--cache-dir", f".mypy_cache/{system}", "src"],
        check=False,
        capture_output=True,
        text=True,
    )
    found = re.search(r"^Found (\d+) errors?", done.stdout, re.MULTILINE)
    count = int(found[1]) if found else 0
    if count > most or (not found and done.returncode):
        sys.stderr.write(f"{done.stdout}{done.stderr}Types on {system}: {count} mistakes, {most} are known\n")
        return 1
    print(f"Types on {system}: {count} mistakes are left ({most} are known)")  # noqa: T201 - for whoever checks
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
