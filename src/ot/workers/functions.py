"""Tools of extensions as the registry calls them."""

from __future__ import annotations

from functools import partial

from ot.registry.registry import ToolFunction
from ot.workers.extension import Extension
from ot.workers.pool import WorkerPool


def worker_function(pool: WorkerPool, extension: Extension, tool: str) -> ToolFunction:
    """Return the function that calls one tool of an extension in its worker."""
    return partial(pool.call, extension, tool)
