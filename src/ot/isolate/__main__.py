"""`python -P .../ot/isolate/__main__.py MEMORY CONFINE`: a helper process that may hold so many bytes of data."""

from __future__ import annotations

import sys

from ot_guardian import divide, inherit_ledger

if __name__ == "__main__":
    ledger = inherit_ledger()
    # At once: what a helper does is of no use to anybody when its server is gone.
    guarded = divide(ledger, grace=0.0, confine=sys.argv[2])

    from ot.isolate.child import main  # the guardian needs none of it

    main(int(sys.argv[1]), ledger, guarded)
