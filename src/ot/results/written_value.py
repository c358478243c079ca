"""A large value on its way into the store: its kernel has written it down in the stored form, and nobody decodes it."""

from __future__ import annotations

from collections.abc import Callable

from ot.tasks.large_values import FileValue


class WrittenValue(FileValue):
    """The argument of `ot.keep` where that is too large for a message; what its kernel says of it is not believed."""

    __slots__ = ("kind", "opened", "what")

    def __init__(self, opened: Callable[[], int], kind: str, what: str) -> None:
        self.opened = opened  # opens the file; raises RunRefusedError
        self.kind = kind  # of the stored form
        self.what = what  # the Python type of the value

    def __repr__(self) -> str:
        return f"<a {self.what[:60]}, too large to show>"
