"""The process that forks helpers of one module: a standby which has imported that, and the libraries of its calls.

It never sees a call: neither arguments nor files. What it forks takes its bounds on before it hears of anything.
"""

from __future__ import annotations

import os
import sys

from ot.isolate.child import main
from ot.isolate.connection import VARIABLE as CONNECTION_VARIABLE
from ot.registry.pack_module import import_module
from ot_guardian import Ledger, divide
from ot_guardian.standby import Standby

_NOWHERE = "/nonexistent"  # a library that is imported here is not to look at the person's own files


def stand_by(control: int) -> None:
    """Fork helpers until the server goes away."""
    os.environ["HOME"] = _NOWHERE
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    Standby(control, _live, _load).serve()


def _live(words: list[str], ledger: Ledger, others: list[int]) -> None:
    memory, confine = words
    if others:
        os.environ[CONNECTION_VARIABLE] = str(others[0])
    # At once: what a helper does is of no use to anybody when its server is gone.
    guarded = divide(ledger, grace=0.0, confine=confine)
    main(int(memory), ledger, guarded)


def _load(module: str) -> None:
    try:
        import_module(module)
    except BaseException:  # noqa: BLE001 - the call that imports it itself tells what is wrong with it
        pass
    sys.stdout.flush()  # what it has printed is not to come out of every helper
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        vars(tempfile)["tempdir"] = None  # each helper has a folder of its own
