"""`python .../ot_sdk/__main__.py FILE [CONFINE]`: the command that starts a worker, within its bounds if it has any."""

from __future__ import annotations

import os
import sys

# The folder around ot_sdk, and not ot_sdk itself, whose modules would be importable under their bare names.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from ot_sdk.worker import main  # noqa: E402 - it lies on the path only now

main(*sys.argv[1:3])
