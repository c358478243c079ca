"""How properties are tested: with half as many examples as usual, and no clock, for the machine may be busy.

`EXAMPLES=1000 pytest -m hypothesis` tries more of them, and so does `make test-long`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

examples = int(os.environ.get("EXAMPLES", "50"))
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples)
