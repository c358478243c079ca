"""The exceptions that a tool may raise or meet."""

from __future__ import annotations


class ToolError(Exception):
    """A message for the caller: `raise ToolError("no such city: Atlantis")`. The caller sees only its text."""


class CallCancelled(BaseException):
    """Raised inside a call that has been cancelled; let it pass.

    Not an Exception, so that `except Exception` does not go on with a call that nobody waits for.
    """
