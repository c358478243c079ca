"""What is too old is removed from PostgreSQL for everybody, by one replica at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from ot.store.opening import build_backend
from ot.store.owner import Owner
from ot.store.parts import WHOLE, begin_line
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.retention import DAY, PERIOD, PostgresRetention, Terms
from ot.store.results import REMEMBERED
from tests.packs.db.servers import RunningServer
from tests.postgres import fresh_database
from tests.store.conftest import KEPT

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]

TERMS = Terms(journal=DAY, statistics=365 * DAY, audit=365 * DAY)
OWNED = "SELECT '{person}', '/p', 'r1'"
FILL = f"""
INSERT INTO journal_lines (principal, project, run, event, writer, written, lines)
    {OWNED}, unnest(ARRAY['start', '', 'ended']), 'w', $1, '';
INSERT INTO journal_values {OWNED.replace("SELECT", "SELECT '{person}',")}, $1, '';
INSERT INTO undo_frames {OWNED}, 0, $1, '';
INSERT INTO run_owners {OWNED}, 2, 'r2', $1;
INSERT INTO results VALUES ('{{person}}', 'h', '', 3, $1, $1 + 3600);
INSERT INTO result_pieces VALUES ('{{person}}', 'h', 0, 'abc');
INSERT INTO kept_names VALUES ('kept', '{{person}}', '/p', 'rows', 'h', $1 + 3600);
INSERT INTO audit_lines SELECT '{{person}}', 'a.jsonl', unnest(ARRAY[0, 10]), 'w', $1, '';
INSERT INTO stat_runs VALUES ('{{person}}', 1, 1, '', $1, 1, '', 1, '', 1, '', 0);
INSERT INTO stat_calls VALUES ('{{person}}', 1, 0, 'a.b', $1, 1, '', 1, '', 1, '');
INSERT INTO stat_models VALUES ('{{person}}', 'p', 'm', $1, 1, 1, 0, 1);
INSERT INTO quotas VALUES ('{{person}}', floor($1 / 60), 1, 1, floor($1 / 86400), 0);
INSERT INTO calls_per_hour VALUES ('{{person}}', 'rule', floor($1 / 3600), 1);
INSERT INTO run_leases VALUES ('{{person}}', 'r1', to_timestamp($1));
INSERT INTO detached_runs VALUES ('{{person}}', 'r1', 'x', to_timestamp($1));
INSERT INTO client_memories VALUES ('{{person}}', 'read', 'x', '', to_timestamp($1));
"""
TABLES = [line.split()[2] for line in FILL.splitlines() if line.startswith("INSERT")]


@pytest.fixture
def links(postgres: RunningServer, template: str) -> Iterator[tuple[PostgresLink, PostgresLink]]:
    address = fresh_database(postgres, template)
    with closing(PostgresLink(address)) as first, closing(PostgresLink(address)) as second:
        yield first, second


async def fill(link: PostgresLink, person: str, moment: float) -> None:
    statements = FILL.format(person=person).replace("{person}", person).replace("$1", f"{moment}::float8")
    await link.run(lambda connection: connection.execute(statements))


async def count(link: PostgresLink, person: str) -> Mapping[str, int]:
    counts = {}
    for table in TABLES:
        [(rows,)] = await link.fetch(f"SELECT count(*) FROM {table} WHERE principal = $1", person)
        counts[table] = rows
    return counts


async def test_everything_of_somebody_who_never_comes_back_goes_in_its_time(
    links: tuple[PostgresLink, PostgresLink],
) -> None:
    now = time.time()
    retention = PostgresRetention(links[0], TERMS)
    await fill(links[0], "gone for long", now - 366 * DAY)
    await fill(links[0], "here", now)
    here = await count(links[0], "here")

    assert await retention.remove_old(now) > 0
    assert not any((await count(links[0], "gone for long")).values())
    assert await count(links[0], "here") == here

    await retention.remove_old(now + 3601 + REMEMBERED / 2)
    half_a_day = await count(links[0], "here")
    assert [table for table in TABLES if half_a_day[table] != here[table]] == [
        "result_pieces",
        "calls_per_hour",
        "run_leases",
        "client_memories",
    ]
    await retention.remove_old(now + 3 * DAY)
    assert {table for table, rows in (await count(links[0], "here")).items() if rows} == {
        "audit_lines",
        "stat_runs",
        "stat_calls",
        "stat_models",
    }


async def test_a_run_or_a_file_that_is_still_written_to_stays_whole(links: tuple[PostgresLink, PostgresLink]) -> None:
    now = time.time()
    await fill(links[0], "ann", now - 366 * DAY)
    await links[0].fetch("DELETE FROM journal_lines WHERE event = 'ended'")
    line = "INSERT INTO journal_lines (principal, project, run, event, writer, written, lines)"
    await links[0].fetch(f"{line} VALUES ('ann', '/p', 'r1', '', 'w', $1, '')", now)
    await links[0].fetch("INSERT INTO audit_lines VALUES ('ann', 'a.jsonl', 20, 'w', $1, '')", now)

    await PostgresRetention(links[0], TERMS).remove_old(now)

    left = await count(links[0], "ann")
    assert (left["journal_lines"], left["journal_values"], left["undo_frames"], left["run_owners"]) == (3, 1, 1, 1)
    assert left["audit_lines"] == 3


async def test_one_replica_at_a_time_removes_and_only_when_it_is_time(links: tuple[PostgresLink, PostgresLink]) -> None:
    now = time.time()
    first, second = (PostgresRetention(link, TERMS) for link in links)
    await fill(links[0], "ann", now - 366 * DAY)

    async def remove_beside(connection: Connection) -> int:
        async with connection.transaction():
            await connection.fetch("SELECT FROM retention FOR UPDATE")  # as a replica that removes something does
            return await second.remove_old(now)

    assert await links[0].run(remove_beside) == 0
    assert await first.remove_old(now) > 0
    await fill(links[0], "bob", now - 366 * DAY)
    assert await second.remove_old(now + PERIOD - 1) == 0
    assert await second.remove_old(now + PERIOD) > 0


async def test_replicas_that_look_at_the_same_moment_share_the_work(links: tuple[PostgresLink, PostgresLink]) -> None:
    now = time.time()
    for number in range(120):  # more than one takes at once
        await fill(links[0], f"person {number}", now - 366 * DAY)
    removed = []

    async def remove(link: PostgresLink) -> None:
        removed.append(await PostgresRetention(link, TERMS).remove_old(now))

    async with anyio.create_task_group() as tasks:
        for link in links:
            tasks.start_soon(remove, link)

    assert sum(removed) == 120 * (len(TABLES) + 3)  # lines and pieces beside; results end first, and go later
    assert not [table for table in TABLES if await links[0].fetch(f"SELECT 1 FROM {table} LIMIT 1")]


async def test_a_run_that_a_backend_wrote_is_gone_for_its_owner(
    postgres: RunningServer, template: str, tmp_path: Path
) -> None:
    address = fresh_database(postgres, template)
    with closing(build_backend(address)) as writes, closing(PostgresLink(address)) as link:
        journal = writes.build_store(tmp_path, principal="ann", journal=KEPT).journal
        owner = Owner("ann", tmp_path)
        journal.begin(begin_line(owner, "r1") + b'"n":1,"event":"start",' + WHOLE + b"}\n")
        await journal.settle()
        retention = PostgresRetention(link, TERMS)
        await retention.remove_old()  # by the clock of the database, which says that nothing is old
        assert journal.read(owner, "r1") is not None

        await retention.remove_old(time.time() + DAY + PERIOD)
        assert journal.read(owner, "r1") is None
