"""How properties are tested: with a quarter of the usual examples, and no clock, for the machine may be busy.

`EXAMPLES=1000 pytest -m hypothesis` tries more of them, and so does `make test-long`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

examples = int(os.environ.get("EXAMPLES", "25"))
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples)
