"""The engine that runs extensions: this machine, or a cluster that is tried."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio

from mcp_core.json_types import JsonObject
from onetool.doctor.finding import Finding, edit, green, red
from ot.config.loader import LoadedConfig
from ot.parts.known_tools import worker_host
from ot.workers.pool import open_worker_pool
from ot.workers.uv_program import PreparationError


def look_at_engine(loaded: LoadedConfig, *, offline: bool) -> Iterator[Finding]:
    """Report where extensions run; `offline` does not try the cluster."""
    if loaded.config.workers.engine == "local":
        yield green("workers", "extensions run on this machine (workers.engine: local)")
        return
    address = loaded.config.workers.ray_address
    if offline:
        yield green("workers", f"extensions may run on Ray, which was not tried (workers.ray_address: {address})")
        return
    try:
        facts = anyio.run(_connect, loaded)
    except PreparationError as error:
        yield red("workers", str(error), edit(loaded.files[0] if loaded.files else None))
    else:
        yield green("workers", f"Ray {facts['ray']} at {address} answers, with {facts['nodes']} nodes")


async def _connect(loaded: LoadedConfig) -> JsonObject:
    async with open_worker_pool(loaded.config.workers, host=worker_host(loaded, os.environ)) as pool:
        return await pool.ray.connect()
