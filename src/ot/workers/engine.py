"""Engines run workers: on this machine, or on a cluster. The pool decides when, an engine where and how."""

from __future__ import annotations

from typing import Protocol

from ot.workers.extension import Extension
from ot.workers.placement import EngineName
from ot.workers.uv_program import Tell
from ot.workers.worker import Worker


class WorkerEngine(Protocol):
    """Starts workers, at most `most` of one extension at a time; with one, all calls of an extension share it."""

    @property
    def name(self) -> EngineName: ...
    @property
    def most(self) -> int: ...

    async def start(self, extension: Extension, tell: Tell) -> Worker:
        """Start the process of a worker, which has yet to import its file; raises PreparationError and OSError."""
