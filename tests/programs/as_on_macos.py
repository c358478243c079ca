"""`as_on_macos.py SANDBOX_EXEC FILE WORDS...`: run a file of ours as if on macOS, with another sandbox-exec."""

import runpy
import sys

program, *sys.argv = sys.argv[1:]
sys.platform = "darwin"
sys.path.append(sys.argv[0].partition("/ot_guardian/")[0])

from ot_confinement import seatbelt  # noqa: E402

seatbelt.SANDBOX_EXEC = program
runpy.run_path(sys.argv[0], run_name="__main__")
