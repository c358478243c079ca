"""This server as one of several replicas: what it does for the others, and they for it, such as bringing answers."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from mcp.server.request_state import InvalidRequestState, RequestStateSecurity

from mcp_core.distribution import VERSION
from mcp_core.json_types import Json, JsonObject
from onetool.people.person_of import person_of
from onetool.replicas import channels
from onetool.replicas.detached_runs import LOOK, QUESTIONS, SETTLE, STOP, WAIT, DetachedElsewhere, DetachedHere, RunsOf
from onetool.replicas.draining import Draining
from onetool.replicas.vitals import MINUTE, Sample, Vitals
from ot.clients.caller import Progress
from ot.config.models import Config
from ot.run.answer import Answer
from ot.run.waiting_runs import PATIENCE, LostRunError, RunState, UnknownStateError, Waiting, WaitingRuns
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.postgres.retention import DAY, PostgresRetention, Terms
from ot.store.replicas import BEAT, name_replica
from ot.store.sealing import Sealer, SealError
from ot.tasks.owned_tasks import open_background_tasks

SUBJECT = "answer"

Save: TypeAlias = Callable[[str], Awaitable[None]]
"""Saves what the client of a principal has read and agreed to, before something is answered."""


class AnswersElsewhere:
    def __init__(self, talks: channels.ReplicaChannels, lost_in: Callable[[str], Awaitable[float]]) -> None:
        self._talks = talks
        self._lost_in = lost_in

    async def resume(
        self, state: RunState, answers: Mapping[str, JsonObject], *, principal: str, progress: Progress
    ) -> Answer | Waiting:
        """Follow a run on from its questions, wherever it is; raises UnknownStateError, and OSError."""
        asked: JsonObject = {"state": str(state), "principal": principal, "answers": dict(answers)}
        try:
            async with self._talks.open(state.replica, SUBJECT, asked) as talk:
                while True:
                    match await talk.receive():
                        case {"progress": list(told), "milestone": bool(milestone)}:
                            await channels.pass_on(told, progress, milestone=milestone)
                        case {"answer": answer}:
                            return Answer.decoded(answer)
                        case {"state": str(next_state), "questions": dict(questions)}:
                            return Waiting(next_state, _objects(questions))
                        case _:
                            raise UnknownStateError
        except channels.ReplicaGoneError:
            raise LostRunError(state.run, await self._lost_in(state.replica)) from None


class AnswersHere:
    """Serves other replicas that have a client's answer for a run which waits in this one."""

    def __init__(self, runs: WaitingRuns, save: Save) -> None:
        self._runs = runs
        self._save = save

    async def serve(self, talk: channels.ReplicaChannel, asked: Mapping[str, Json]) -> Json:
        match asked:
            case {"state": str(state), "principal": str(principal), "answers": dict(answers)}:
                pass
            case _:
                return {"unknown": True}
        try:
            progress = channels.progress_to(talk)
            outcome = await self._runs.resume(
                RunState.read(state), _objects(answers), principal=principal, progress=progress
            )
        except UnknownStateError:
            return {"unknown": True}
        await self._save(principal)
        if isinstance(outcome, Answer):
            return {"answer": outcome.encoded()}
        return {"state": outcome.state, "questions": dict(outcome.questions)}


def _objects(found: Mapping[str, Json]) -> dict[str, JsonObject]:
    return {key: value for key, value in found.items() if isinstance(value, dict)}


_SAMPLING = round(MINUTE / BEAT)  # beats
_LEAVING = 3.0  # seconds
_PLACE = "request state"


@asynccontextmanager
async def open_presence(
    replicas: PostgresReplicas,
    draining: Draining,
    retention: PostgresRetention,
    status: Callable[[], JsonObject] = dict,
    vitals: Vitals | None = None,
    *,
    beat: float = BEAT,
) -> AsyncIterator[None]:
    async def tell() -> None:
        for count in itertools.count():
            with suppress(OSError):  # the link says so in the log, and is back when the database is
                began = time.perf_counter()
                await replicas.beat(draining=draining.begun, status=status())
                if vitals is not None:
                    vitals.note_write(time.perf_counter() - began)
                    if count % _SAMPLING == _SAMPLING - 1:
                        await replicas.add_sample(*_told(vitals.sample()))
            await anyio.sleep(beat)

    with suppress(OSError):
        await replicas.beat(status=status())
    async with open_background_tasks() as tasks:
        tasks.start_soon(tell)
        tasks.start_soon(retention.keep_to_it)
        try:
            yield
        finally:
            with anyio.move_on_after(_LEAVING, shield=True), suppress(OSError):
                await replicas.leave()


def _told(sample: Sample) -> tuple[int, JsonObject]:
    return sample.minute, sample.told()


class _Codec:
    def __init__(self, sealer: Callable[[], Sealer]) -> None:
        self._sealer = sealer

    def seal(self, payload: bytes) -> str:
        return self._sealer().seal(payload, place=_PLACE)

    def unseal(self, token: str) -> bytes:
        try:
            return self._sealer().open(token, place=_PLACE)
        except SealError as error:
            raise InvalidRequestState(str(error)) from error


@dataclass(frozen=True, slots=True)
class Replicas:
    store: PostgresReplicas
    vitals: Vitals
    states: RequestStateSecurity
    answers: AnswersElsewhere
    detached: DetachedElsewhere
    _served: dict[str, channels.Serve]

    def serve(self, runs: WaitingRuns, save: Save, runs_of: RunsOf) -> None:
        """Take answers to questions of runs that wait here, and let those that go on here be waited for and stopped."""
        here = DetachedHere(runs_of)
        self._served.update({SUBJECT: AnswersHere(runs, save).serve, WAIT: here.wait, STOP: here.stop})
        self._served.update({QUESTIONS: here.questions, SETTLE: here.settle, LOOK: here.look})


def terms_of(config: Config) -> Terms:
    return Terms(config.journal.keep_for, config.stats.keep_days * DAY, config.audit.keep_days * DAY)


@asynccontextmanager
async def open_replicas(
    link: PostgresLink,
    sealer: Callable[[], Sealer],
    *,
    address: str,
    draining: Draining,
    vitals: Vitals,
    terms: Terms,
) -> AsyncIterator[Replicas]:
    def tell() -> JsonObject:
        return {**vitals.status(), "seal_keys": [*sealer().ids]}

    store = PostgresReplicas(link, name_replica(address, version=VERSION, link=link.name))
    served: dict[str, channels.Serve] = {}
    retention = PostgresRetention(link, terms)
    async with open_presence(store, draining, retention, tell, vitals), channels.open_talks(store, served) as talks:
        # A state is opened in whichever replica, and is as old as a run may wait.
        states = RequestStateSecurity(
            codec=_Codec(sealer), ttl=PATIENCE, bind_principal=lambda ctx: person_of(ctx).principal
        )
        elsewhere = AnswersElsewhere(talks, store.lost_in)
        yield Replicas(store, vitals, states, elsewhere, DetachedElsewhere(store, talks), served)
