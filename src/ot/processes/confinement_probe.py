"""A try at confining: whether this system can hold a program to its bounds shows only when one is started."""

from __future__ import annotations

import os
import subprocess

from ot_confinement.confine import Confine
from ot_guardian import VARIABLE, Ledger, guarded

_LIMIT = 30.0  # seconds


def find_confinement_problem(confine: Confine) -> str:
    """Say why a program within such bounds cannot be started here, as the rest of a sentence; empty if it can be."""
    ledger = Ledger(os.memfd_create("onetool-ledger"))
    try:
        subprocess.run(
            guarded(["true"], confine=confine),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[ledger.descriptor],
            env={**os.environ, VARIABLE: str(ledger.descriptor)},
            timeout=_LIMIT,
            check=False,
        )
        return ledger.explanation()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be started: {error}"
    finally:
        os.close(ledger.descriptor)
