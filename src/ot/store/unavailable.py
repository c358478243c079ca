"""The error of a store that cannot be reached."""

from __future__ import annotations

import errno


class StoreUnavailableError(OSError):
    """The database of the store cannot be reached, or does not answer; `reason` says why, without a password.

    It is an OSError, as everything is that keeps a store from being written or read.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EHOSTUNREACH, reason)
        self.reason = reason
