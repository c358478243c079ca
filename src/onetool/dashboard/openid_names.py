"""What the door knows of logins at an issuer, without the libraries that they need."""

from __future__ import annotations

CALLBACK = "/login/callback"


class LoginError(Exception):
    """A login did not succeed; its words are for the person."""
