"""The code of a skill on its way to a kernel: the answer to a call of it, which the kernel then executes."""

from __future__ import annotations

from ot.values import OpaqueValue


class SkillCode(OpaqueValue):
    """One skill; no other caller than a kernel ever gets it."""

    __slots__ = ("file", "name", "source")

    def __init__(self, name: str, file: str, source: str) -> None:
        self.name = name
        self.file = file  # as tracebacks show it
        self.source = source
