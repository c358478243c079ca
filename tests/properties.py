"""How properties are tested: as many examples as usual, and no clock, for the machine may be busy."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
