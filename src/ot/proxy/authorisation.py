"""OAuth for servers that want it."""

from __future__ import annotations

import httpx2

from ot.proxy.plan import SessionPlan


def build_authorisation(plan: SessionPlan) -> httpx2.Auth | None:
    return None
