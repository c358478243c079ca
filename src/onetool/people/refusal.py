"""Refused credentials: what is wrong with them and what to do, in a sentence or two."""

from __future__ import annotations


class RefusedError(Exception):
    """Authentication failed; the text is for the client, and says nothing about the token itself."""

    status = 401
    error = "invalid_token"


class NoCredentialsError(RefusedError):
    """The request has no credentials; the protocol has no error code for that."""

    error = ""


class UnavailableError(RefusedError):
    """Credentials cannot be checked now, and may be valid."""

    status = 503
    error = "temporarily_unavailable"
    retry_after = 10  # seconds


class IssuerUnavailableError(UnavailableError):
    """The keys of the issuer cannot be fetched."""


class KeysUnavailableError(UnavailableError):
    """The API keys cannot be read."""
