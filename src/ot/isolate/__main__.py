"""`python -P .../ot/isolate/__main__.py MEMORY CONFINE [FOLDER ...]`: a helper with a limit on its data, in bytes.

`python -P .../ot/isolate/__main__.py standby CONTROL [FOLDER ...]`: a process that forks helpers.
On the interpreter of a pack's own environment, FOLDERs hold our packages and what they import.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    first, second, *folders = sys.argv[1:]
    sys.path += folders

    from ot_guardian.guardian import STANDBY, divide  # not on every path before this

    if first == STANDBY:
        from ot.isolate.child import stand_by

        stand_by(int(second))
        sys.exit()

    from ot_guardian import inherit_ledger

    ledger = inherit_ledger()
    # At once: what a helper does is of no use to anybody when its server is gone.
    guarded = divide(ledger, grace=0.0, confine=second)

    from ot.isolate.child import main  # the guardian needs none of it

    main(int(first), ledger, guarded)
