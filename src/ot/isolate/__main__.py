"""`python -P .../ot/isolate/__main__.py MEMORY CONFINE [FOLDER ...]`: a helper that may hold so many bytes of data.

On the interpreter of a pack's own environment, FOLDERs hold our packages and what they import.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    memory, confine, *folders = sys.argv[1:]
    sys.path += folders

    from ot_guardian import divide, inherit_ledger  # not on every path before this

    ledger = inherit_ledger()
    # At once: what a helper does is of no use to anybody when its server is gone.
    guarded = divide(ledger, grace=0.0, confine=confine)

    from ot.isolate.child import main  # the guardian needs none of it

    main(int(memory), ledger, guarded)
