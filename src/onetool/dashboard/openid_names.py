"""The parts of OpenID logins that need no extra library."""

from __future__ import annotations

CALLBACK = "/login/callback"


class LoginError(Exception):
    """A login did not succeed; its words are for the person."""
