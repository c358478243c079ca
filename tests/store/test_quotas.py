"""Quotas: what each person has used is counted once, whichever server they use, and is free again in time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from ot.store.opening import open_backend
from ot.store.quotas import CALLS, COSTS_FILE, DAY, MINUTE, RUNNING, RUNS, Asked, EmbeddedQuotas, Quotas
from tests.store.conftest import BOTH, EMBEDDED

pytestmark = pytest.mark.anyio


@pytest.fixture
def ann(request: pytest.FixtureRequest) -> str:
    """Somebody of this test only: tests share a database."""
    return f'["https://issuer.example","ann of {request.node.name}"]'


@pytest.fixture
def bob(request: pytest.FixtureRequest) -> str:
    return f'["https://issuer.example","bob of {request.node.name}"]'


def asking(*, runs: int | None = None, running: int | None = None, calls: int | None = None) -> Asked:
    return Asked(runs, running, calls, 5)


@pytest.fixture(params=BOTH)
async def quotas(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Quotas]:
    address = "sqlite" if request.param == EMBEDDED else request.getfixturevalue("database")
    async with open_backend(address) as backend, backend.open_quotas(tmp_path) as found:
        yield found


async def test_runs_of_a_minute_are_counted_for_each_person(quotas: Quotas, ann: str, bob: str) -> None:
    given = [(await quotas.begin_run(ann, f"r{number}", asking(runs=10**6))).refused for number in range(3)]
    refused = await quotas.begin_run(ann, "r4", asking(runs=1))

    assert given == ["", "", ""]
    assert refused.refused == RUNS
    assert 0 < refused.free_in <= MINUTE
    assert (await quotas.begin_run(bob, "r1", asking(runs=1))).refused == ""


async def test_a_run_that_ends_makes_room_for_another(quotas: Quotas, ann: str, bob: str) -> None:
    assert (await quotas.begin_run(ann, "a", asking(running=1))).refused == ""
    assert (await quotas.begin_run(ann, "b", asking(running=1))).refused == RUNNING
    assert (await quotas.begin_run(bob, "b", asking(running=1))).refused == ""

    await quotas.end_run(ann, "a")
    await quotas.begin_run(ann, "one that needs no room", asking())

    assert (await quotas.begin_run(ann, "b", asking(running=1))).refused == ""


async def test_of_runs_that_begin_at_once_no_more_get_room_than_there_is(quotas: Quotas, ann: str) -> None:
    refused = []

    async def begin(number: int) -> None:
        refused.append((await quotas.begin_run(ann, f"r{number}", asking(running=3))).refused)

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(begin, number)

    assert sorted(refused) == [""] * 3 + [RUNNING] * 9


async def test_calls_of_an_hour_are_counted_by_rule_and_person(quotas: Quotas, ann: str, bob: str) -> None:
    counted: list[int] = []

    async def count() -> None:
        counted.append(await quotas.count_call(ann, "mail.*, more than 5 per hour"))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(count)

    assert sorted(counted) == [1, 2, 3, 4, 5]
    assert await quotas.count_call(ann, "web.*, more than 5 per hour") == 1
    assert await quotas.count_call(bob, "mail.*, more than 5 per hour") == 1


async def test_no_more_calls_are_given_than_there_are(quotas: Quotas, ann: str) -> None:
    begun = await quotas.begin_run(ann, "a", asking(runs=10**6, calls=8))
    more = await quotas.take_calls(ann, 8, 5)
    none = await quotas.take_calls(ann, 8, 5)

    # A minute may have ended in between: what is given then is of the next one.
    assert (begun.calls, more.calls) in [(5, 3), (5, 5)]
    assert (none.refused, none.calls) in [(CALLS, 0), ("", 3), ("", 5)]


async def test_costs_of_models_add_up(quotas: Quotas, ann: str, bob: str) -> None:
    assert await quotas.model_cost(ann) == 0.0
    quotas.add_model_cost(ann, 0.25)
    quotas.add_model_cost(ann, 0.5)
    quotas.add_model_cost(bob, 1.0)

    with anyio.fail_after(60):
        while await quotas.model_cost(ann) < 0.75 or await quotas.model_cost(bob) < 1.0:
            await anyio.sleep(0.01)
    assert await quotas.model_cost(ann) == 0.75


@pytest.mark.xdist_group("databases")
async def test_the_room_of_runs_is_kept_while_their_replica_lives_and_free_when_it_has_died(
    database: str, ann: str
) -> None:
    from ot.store.postgres.link import PostgresLink
    from ot.store.postgres.quotas import PostgresQuotas, open_postgres_quotas

    with closing(PostgresLink(database)) as link:
        async with open_postgres_quotas(link, lease=0.4) as living:
            dead, other = PostgresQuotas(link, lease=0.4), PostgresQuotas(link)  # nobody renews its leases
            await dead.begin_run(ann, "a", asking(running=2))
            await living.begin_run(ann, "b", asking(running=2))
            assert (await other.begin_run(ann, "c", asking(running=2))).refused == RUNNING

            with anyio.fail_after(60):
                while (await other.begin_run(ann, "c", asking(running=2))).refused:
                    await anyio.sleep(0.05)

            assert (await other.begin_run(ann, "d", asking(running=2))).refused == RUNNING


class Clock:
    def __init__(self) -> None:
        self.now = DAY * 20_000 + 30.0

    def __call__(self) -> float:
        return self.now


def build(tmp_path: Path) -> tuple[Clock, Callable[[], EmbeddedQuotas]]:
    clock = Clock()
    return clock, lambda: EmbeddedQuotas(tmp_path, clock=clock)


async def test_a_new_minute_has_room_again(tmp_path: Path, ann: str) -> None:
    clock, open_quotas = build(tmp_path)
    quotas = open_quotas()
    await quotas.begin_run(ann, "a", asking(runs=1, calls=1))

    assert (await quotas.begin_run(ann, "b", asking(runs=1))).free_in == 30.0
    assert (await quotas.take_calls(ann, 1, 5)).refused == CALLS
    clock.now += 30
    assert (await quotas.begin_run(ann, "b", asking(runs=1))).refused == ""
    assert (await quotas.take_calls(ann, 1, 5)).calls == 1


async def test_costs_of_a_day_outlive_the_server_and_not_the_day(tmp_path: Path, ann: str) -> None:
    clock, open_quotas = build(tmp_path)
    open_quotas().add_model_cost(ann, 2.5)

    assert await open_quotas().model_cost(ann) == 2.5
    clock.now += DAY
    assert await open_quotas().model_cost(ann) == 0.0
    (tmp_path / COSTS_FILE).write_text("[]")
    assert await open_quotas().model_cost(ann) == 0.0
