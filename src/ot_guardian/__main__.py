"""`python .../ot_guardian/__main__.py kept|shared STDIN CONFINE COMMAND...`: start a program below a guardian.

`python .../ot_guardian/__main__.py standby CONTROL`: wait, and do that whenever the server asks for it.
"""

from __future__ import annotations

import os
import sys

# Last on the path: the folder may hold other packages, and none of them may hide the standard library.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

if sys.argv[1] == "standby":
    from ot_guardian.standby import stand_by

    stand_by(int(sys.argv[2]))
else:
    from ot_guardian.guardian import main

    main(sys.argv[1:])
