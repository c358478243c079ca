"""This server as one of several replicas: what it does for the others, and they for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import anyio
from mcp.server.request_state import InvalidRequestState, RequestStateSecurity

from mcp_core.distribution import VERSION
from onetool.people.person_of import person_of
from onetool.replicas.answers import SUBJECT, AnswersElsewhere, AnswersHere, Save
from onetool.replicas.channels import Serve, open_talks
from onetool.replicas.detached_runs import STOP, WAIT, DetachedElsewhere, DetachedHere, RunsOf
from onetool.replicas.draining import Draining
from ot.run.waiting_runs import PATIENCE, WaitingRuns
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import BEAT, name_replica
from ot.store.sealing import Sealer, SealError
from ot.tasks.owned_tasks import open_background_tasks

_LEAVING = 3.0  # seconds
_TIDYING = 100  # beats
_PLACE = "request state"


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


class _Codec:
    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def seal(self, payload: bytes) -> str:
        return self._sealer.seal(payload, place=_PLACE)

    def unseal(self, token: str) -> bytes:
        try:
            return self._sealer.open(token, place=_PLACE)
        except SealError as error:
            raise InvalidRequestState(str(error)) from error


@dataclass(frozen=True, slots=True)
class Replicas:
    store: PostgresReplicas
    states: RequestStateSecurity
    answers: AnswersElsewhere
    detached: DetachedElsewhere
    _served: dict[str, Serve]

    def serve_answers(self, runs: WaitingRuns, save: Save) -> None:
        """Take answers to questions of runs that wait here."""
        self._served[SUBJECT] = AnswersHere(runs, save).serve

    def serve_detached(self, runs_of: RunsOf) -> None:
        """Let runs that go on here be waited for and stopped."""
        here = DetachedHere(runs_of)
        self._served.update({WAIT: here.wait, STOP: here.stop})


@asynccontextmanager
async def open_replicas(
    link: PostgresLink, sealer: Sealer, *, address: str, draining: Draining
) -> AsyncIterator[Replicas]:
    """Be one of the replicas on this database for as long as this is open."""
    store = PostgresReplicas(link, name_replica(address, version=VERSION, link=link.name))
    served: dict[str, Serve] = {}
    async with open_presence(store, draining), open_talks(store, served) as talks:
        # A state is opened in whichever replica, and is as old as a run may wait.
        states = RequestStateSecurity(
            codec=_Codec(sealer), ttl=PATIENCE, bind_principal=lambda ctx: person_of(ctx).principal
        )
        yield Replicas(store, states, AnswersElsewhere(talks), DetachedElsewhere(store, talks), served)
