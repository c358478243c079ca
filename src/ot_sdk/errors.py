"""What a tool of an extension may raise, and what may be raised inside it."""

from __future__ import annotations


class ToolError(Exception):
    """For the caller to read: `raise ToolError("no such city: Atlantis")`. Its text is all that the caller sees."""


class CallCancelled(BaseException):
    """The call that asks the server for something has been cancelled; let it pass.

    Not an Exception, so that `except Exception` does not go on with a call that nobody waits for.
    """
