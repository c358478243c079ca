"""`as_on_macos.py SANDBOX_EXEC FILE WORDS...`: run a file of ours as if on macOS, with another sandbox-exec."""

import runpy
import sys
from pathlib import Path

program, *sys.argv = sys.argv[1:]
sys.platform = "darwin"
sys.path.append(str(Path(__file__).parents[2] / "src"))

from ot_confinement import seatbelt  # noqa: E402

seatbelt.SANDBOX_EXEC = program
runpy.run_path(sys.argv[0], run_name="__main__")
