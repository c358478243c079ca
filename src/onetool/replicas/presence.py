"""The presence of this replica: others know that it is there as long as it tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio

from onetool.replicas.draining import Draining
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import BEAT
from ot.tasks.owned_tasks import open_background_tasks

_LEAVING = 3.0  # seconds
_TIDYING = 100  # beats


async def _tell(replicas: PostgresReplicas, draining: Draining, beat: float) -> None:
    count = 0
    while True:
        with suppress(OSError):  # the link says so in the log, and is back when the database is
            await replicas.beat(draining=draining.begun)
            if count % _TIDYING == 0:
                await replicas.forget_old()
        count += 1
        await anyio.sleep(beat)


@asynccontextmanager
async def open_presence(replicas: PostgresReplicas, draining: Draining, *, beat: float = BEAT) -> AsyncIterator[None]:
    """Be there for other replicas for as long as this is open."""
    with suppress(OSError):
        await replicas.beat()
    async with open_background_tasks() as tasks:
        tasks.start_soon(_tell, replicas, draining, beat)
        try:
            yield
        finally:
            with anyio.move_on_after(_LEAVING, shield=True), suppress(OSError):
                await replicas.leave()
