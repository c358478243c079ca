"""`python .../ot_guardian/__main__.py kept|shared STDIN CONFINE COMMAND...`: start a program below a guardian."""

from __future__ import annotations

import os
import sys

# Last on the path: the folder may hold other packages, and none of them may hide the standard library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from ot_guardian.guardian import main

main(sys.argv[1:])
