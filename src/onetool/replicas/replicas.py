"""This server as one of several replicas: what it does for the others, and they for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp.server.request_state import RequestStateSecurity

from mcp_core.distribution import VERSION
from onetool.replicas.answers import SUBJECT, AnswersElsewhere, AnswersHere, Save
from onetool.replicas.channels import Serve, open_talks
from onetool.replicas.detached_runs import STOP, WAIT, DetachedElsewhere, DetachedHere, RunsOf
from onetool.replicas.draining import Draining
from onetool.replicas.presence import open_presence
from onetool.replicas.sealed_states import seal_states
from ot.run.waiting_runs import WaitingRuns
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import name_replica
from ot.store.sealing import Sealer


@dataclass(frozen=True, slots=True)
class Replicas:
    """One replica among others."""

    store: PostgresReplicas
    states: RequestStateSecurity
    answers: AnswersElsewhere
    detached: DetachedElsewhere
    _served: dict[str, Serve]

    @property
    def id(self) -> str:
        return self.store.this.id

    @property
    def name(self) -> str:
        return self.store.this.name

    async def why_not_ready(self) -> str:
        """Say why requests should go elsewhere; an empty text while the store is there."""
        return await self.store.why_not_ready()

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
        yield Replicas(store, seal_states(sealer), AnswersElsewhere(talks), DetachedElsewhere(store, talks), served)
