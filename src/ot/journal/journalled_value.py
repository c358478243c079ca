"""A value from the journal on its way to code: the text that the code of an earlier run got, and nobody decodes it."""

from __future__ import annotations

from ot.values import OpaqueValue


class JournalledValue(OpaqueValue):
    """A value in encoded form, as JSON."""

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded

    def __repr__(self) -> str:
        return f"<{len(self.encoded)} bytes from the journal>"
