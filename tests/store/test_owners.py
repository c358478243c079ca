"""Several servers on one store go on from each other's runs, whatever comes in between: no effect happens twice.

The machine has servers that crash, stop for a while, lose the database, or lose only its answers, and clocks that differ.
It uses the journal as runs do; the checker only compares what was done with what was to be done, and acknowledged.
"""

from __future__ import annotations

import fcntl
import re
import secrets
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ot.clients.caller import Caller
from ot.config.models import JournalSettings
from ot.effects import Effect
from ot.errors import RunNotResumableError, UnknownRunError
from ot.journal.journal import Journal
from ot.journal.open_call import OpenCall
from ot.journal.recorded import CallOutcome
from ot.journal.reuse import Unknown
from ot.journal.run_journal import RunJournal
from ot.run.live_run import new_run_id
from ot.store.embedded_journal import EmbeddedJournal
from ot.store.owner import StoreUnavailableError
from ot.store.parts import JournalStore
from ot.store.postgres.group_commit import Work
from ot.store.postgres.journal import PostgresJournal
from ot.store.postgres.link import PostgresLink
from ot.text.redaction import Redactor
from tests.properties import examples
from tests.store.conftest import BOTH, EMBEDDED

Given = TypeVar("Given")
SERVERS, STEPS = 2, 3
AWAY, DEAF = "away", "deaf"  # nothing reaches the database; or its answers do not come back
_POINTER = re.compile(r'ot\.resume\(run="(r\w+)"\)')


class WeakLink(PostgresLink):
    """A link whose way to the database fails when it is told to, and whose lease is renewed when it is told to."""

    fault = ""

    async def _use(self, work: Work[Given]) -> Given:
        if self.fault == AWAY:
            raise StoreUnavailableError(AWAY)
        found = await super()._use(work)
        if self.fault == DEAF:
            raise StoreUnavailableError(DEAF)
        return found

    async def _keep_lease(self) -> None:
        """Do nothing: time passes as the machine says."""

    async def _finish(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        if self.fault:  # it crashes, and lets go of nothing
            pool.terminate()
        else:
            await super()._finish(pool)

    def renew(self) -> None:
        with suppress(OSError):
            self.run_now(self._renew)


class Server:
    """One process, with its own clock."""

    def __init__(self, store: JournalStore, link: WeakLink | None, project: Path, skew: float) -> None:
        self.link = link
        self.paused = False
        self.store = store
        self.journal = Journal(
            store, JournalSettings(), project=project, redactor=Redactor(), clock=lambda: 1_700_000_000.0 + skew
        )

    def crash(self) -> None:
        self.store.close()
        if self.link is not None:
            self.link.fault = AWAY
            self.link.close()


class Attempt:
    """One run at a server: it makes the steps of its job, unless an earlier run has made them."""

    def __init__(self, job: Job, server: Server, run: RunJournal) -> None:
        self.job = job
        self.server = server
        self.run = run
        self.next = 0
        self.call: OpenCall | None = None  # written, and not made yet
        self.made = False


class Job:
    """Work that a client wants done once; it goes on from the run that it knows last."""

    def __init__(self) -> None:
        self.name = f"job{secrets.token_hex(3)}"
        self.run = ""
        self.over = False  # it is done, or nobody knows whether a step was made

    def step(self, number: int) -> str:
        return f"{self.name}-{number}"


class Owners(RuleBasedStateMachine):
    def __init__(
        self, portal: BlockingPortal, open_server: Callable[[float], Server], pass_time: Callable[[float], None]
    ):
        super().__init__()
        self._portal = portal
        self._open = open_server
        self._pass_time = pass_time
        self.servers: list[Server] = []
        self.job = Job()
        self.attempts: list[Attempt] = []
        self.done: list[str] = []
        self.acknowledged: set[str] = set()

    def _do(self, work: Callable[[], Coroutine[Any, Any, Given]]) -> Given:
        found: Given = self._portal.call(work)
        return found

    @initialize(skews=st.lists(st.floats(-30, 30), min_size=SERVERS, max_size=SERVERS))
    def begin(self, skews: list[float]) -> None:
        self.servers = [self._open(skew) for skew in skews]

    # -- clients

    @rule(at=st.integers(0, SERVERS - 1), hears=st.booleans())
    def ask(self, *, at: int, hears: bool) -> None:
        """Begin the job at a server, or go on with it there; a client that hears nothing asks the same again."""
        server = self.servers[at]
        if server.paused:
            return
        self.job = work = Job() if self.job.over else self.job
        caller = Caller(run_id=new_run_id())

        async def ask() -> RunJournal | None:
            run = server.journal.begin("", caller)
            assert run is not None
            try:
                if work.run:
                    await server.journal.resume(caller, work.run, Unknown.TELL)
                else:
                    await run.settle()
            except (OSError, RunNotResumableError, UnknownRunError) as error:
                server.journal.end(run, "error")
                if hears and (pointer := _POINTER.search(getattr(error, "reason", ""))) is not None:
                    work.run = pointer[1]
                return None
            return run

        run = self._do(ask)
        if run is not None:
            self.attempts.append(Attempt(work, server, run))
            work.run = run.run if hears or not work.run else work.run

    @rule(at=st.integers(0, SERVERS - 1), hears=st.booleans(), moves=st.integers(0, 4), heals=st.booleans())
    def ask_elsewhere(self, *, at: int, hears: bool, moves: int, heals: bool) -> None:
        """Go on with the job at a server while the others are away for as long as that takes."""
        others = [each for each in range(SERVERS) if each != at]
        for other in others:
            self.part(other, AWAY, 11)
        self.part(at, "", 0)
        self.ask(at=at, hears=hears)
        self.go_on(which=0, moves=moves)
        for other in others if heals else ():
            self.part(other, "", 0)

    # -- runs

    @rule(which=st.integers(0, 3), moves=st.integers(1, 4))
    def go_on(self, *, which: int, moves: int) -> None:
        """Let a run make some moves: write its next step, or make it."""
        for _ in range(moves):
            attempts = [each for each in self.attempts if not each.server.paused and each.server in self.servers]
            if not attempts:
                return
            attempt = attempts[-1 - which % len(attempts)]
            if attempt.call is None:
                self._do(partial(self._write, attempt))
            else:
                self._make(attempt, attempt.call)

    async def _write(self, attempt: Attempt) -> None:
        run, job = attempt.run, attempt.job
        if attempt.next == STEPS:
            job.over = True
            self._end(attempt, "value")
            return
        name = job.step(attempt.next)
        if run.reuse is not None and (found := run.reuse.find(name, run.state)) is not None:
            if found.outcome is CallOutcome.UNKNOWN:
                job.over = True
                self._end(attempt, "error")
                return
            run.reuse.take(found)
            run.give(found)
            attempt.next += 1
            return
        given = f'"tool":"do","effect":"unknown","source":"s","digest":"{name}","arguments":{{}}'.encode()
        call = run.begin("do", Effect.UNKNOWN, given)
        try:
            await run.settle()
        except OSError as error:
            run.fail(call, str(error), kind="OSError", unknown=False)
            self._end(attempt, "error")
            return
        attempt.call = call

    def _make(self, attempt: Attempt, call: OpenCall) -> None:
        name, attempt.call = attempt.job.step(attempt.next), None
        self.done.append(name)
        attempt.next += 1

        async def succeed() -> None:
            attempt.run.succeed(call, b'{"value":null}', ())
            await attempt.run.settle()
            self.acknowledged.add(name)

        with suppress(OSError):
            self._do(succeed)

    def _end(self, attempt: Attempt, how: str) -> None:
        self.attempts.remove(attempt)
        attempt.server.journal.end(attempt.run, how)

    # -- what comes in between

    @rule(at=st.integers(0, SERVERS - 1), skew=st.none() | st.floats(-30, 30))
    def stop(self, at: int, skew: float | None) -> None:
        """Stop a server for a while, or let it go on; with a clock, it crashes, and another one begins."""
        if skew is None:
            self.servers[at].paused = not self.servers[at].paused
        else:
            self.servers[at].crash()
            self.servers[at] = self._open(skew)

    @rule(at=st.integers(0, SERVERS - 1), fault=st.sampled_from(["", "", AWAY, DEAF]), seconds=st.sampled_from([0, 11]))
    def part(self, at: int, fault: str, seconds: int) -> None:
        """Lose the database or, on files, the lock that says that this process is there."""
        server = self.servers[at]
        if server.link is not None:
            server.link.fault = fault
        elif isinstance(server.store, EmbeddedJournal) and fault and server.store._lines.descriptor is not None:
            fcntl.flock(server.store._lines.descriptor, fcntl.LOCK_UN)
        self.wait(seconds)

    @rule(seconds=st.sampled_from([1, 6]))
    def wait(self, seconds: int) -> None:
        self._pass_time(seconds)
        for server in self.servers:
            if server.link is not None and not server.paused:
                server.link.renew()

    # -- the checker

    @invariant()
    def nothing_is_done_twice(self) -> None:
        assert len(self.done) == len(set(self.done)), self.done

    @invariant()
    def what_was_acknowledged_is_not_forgotten(self) -> None:
        for attempt in self.attempts:
            assert all(attempt.job.step(number) in self.done for number in range(attempt.next))
        assert self.acknowledged <= set(self.done)

    def teardown(self) -> None:
        for server in self.servers:
            server.crash()


@pytest.mark.parametrize("kind", BOTH)
def test_no_effect_happens_twice_whoever_goes_on(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if kind == EMBEDDED:

        def open_server(skew: float) -> Server:
            store = EmbeddedJournal(tmp_path / "journal", keep_for=86400, max_size=10**8)
            return Server(store, None, tmp_path, skew)

        def pass_time(seconds: float) -> None:
            """Do nothing: what says that a process is there is a lock."""

        _check(open_server, pass_time)
        return
    database = request.getfixturevalue("database")
    with closing(PostgresLink(database)) as clock:

        def open_replica(skew: float) -> Server:
            link = WeakLink(database)
            store = PostgresJournal(link, keep_for=86400, max_size=10**8, clock=lambda: 1_700_000_000.0 + skew)
            link.run_now(lambda connection: connection.execute("SELECT 1"))
            return Server(store, link, tmp_path, skew)

        def let_pass(seconds: float) -> None:
            clock.fetch_now("UPDATE writers SET until = until - make_interval(secs => $1)", seconds)

        _check(open_replica, let_pass)


def _check(open_server: Callable[[float], Server], pass_time: Callable[[float], None]) -> None:
    with start_blocking_portal() as portal:

        class Machine(Owners):
            def __init__(self) -> None:
                super().__init__(portal, open_server, pass_time)

        run_state_machine_as_test(
            Machine,
            settings=settings(max_examples=max(10, examples // 2), stateful_step_count=40, deadline=None),
        )
