"""Refusals at the door: what is wrong with somebody's credentials, and what to do, in one sentence or two."""

from __future__ import annotations


class RefusedError(Exception):
    """Somebody could not be recognised; `str` of it is for whoever reads the answer, and says nothing of the token."""

    status = 401
    error = "invalid_token"


class NoCredentialsError(RefusedError):
    """Nobody said who they are; the protocol wants no error code then."""

    error = ""


class UnavailableError(RefusedError):
    """Credentials cannot be checked now, and may be good."""

    status = 503
    error = "temporarily_unavailable"
    retry_after = 10  # seconds


class IssuerUnavailableError(UnavailableError):
    """The keys of the issuer cannot be fetched."""


class KeysUnavailableError(UnavailableError):
    """The API keys cannot be read."""
