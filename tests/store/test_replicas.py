"""Replicas in PostgreSQL: who is there, what they send each other, and which runs go on where."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing

import anyio
import pytest

from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.replicas import PostgresReplicas
from ot.store.replicas import RememberedClient, name_replica
from tests.packs.db.servers import RunningServer
from tests.postgres import run_sql

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]


@pytest.fixture
def links(database: str) -> Iterator[tuple[PostgresLink, PostgresLink]]:
    with closing(PostgresLink(database)) as first, closing(PostgresLink(database)) as second:
        yield first, second


@pytest.fixture
async def pair(links: tuple[PostgresLink, PostgresLink]) -> AsyncIterator[tuple[PostgresReplicas, PostgresReplicas]]:
    first, second = (
        PostgresReplicas(link, name_replica(f"http://127.0.0.1:{port}/mcp", version="1", link=link.name, host="box"))
        for link, port in zip(links, (8001, 8002), strict=True)
    )
    await first.beat()
    await second.beat()
    yield first, second
    await first.leave()
    await second.leave()


def kill(database: str, postgres: RunningServer, replica: str) -> None:
    """Let a replica look as one does that was killed a while ago."""
    statement = f"UPDATE onetool.replicas SET seen = now() - interval '1 minute' WHERE id = '{replica}'"
    run_sql(postgres, statement, database=database.split("/")[3].split("?", maxsplit=1)[0])


async def test_a_replica_is_named_by_its_place_and_each_process_has_an_id() -> None:
    first, again = (name_replica("http://127.0.0.1:8001/mcp", version="1", link="", host="box.local") for _ in range(2))

    assert first.name == again.name == "box-local-8001"
    assert first.id != again.id


async def test_who_has_told_of_itself_is_there_until_it_leaves(
    pair: tuple[PostgresReplicas, PostgresReplicas],
) -> None:
    first, second = pair
    assert {first.replica, second.replica} <= set(await first.living())

    await second.beat(draining=True)
    seen = {each.id: each for each in await first.seen()}
    await second.leave()

    assert (seen[second.replica].draining, seen[second.replica].alive) == (True, True)
    assert seen[first.replica].address == "http://127.0.0.1:8001/mcp"
    assert second.replica not in await first.living()


async def test_who_has_died_is_not_there_any_more(
    pair: tuple[PostgresReplicas, PostgresReplicas], database: str, postgres: RunningServer
) -> None:
    first, second = pair
    kill(database, postgres, second.replica)

    assert second.replica not in await first.living()
    assert not await first.send(second.replica, b"anybody there?")
    assert [each.alive for each in await first.seen() if each.id == second.replica] == [False]


async def test_messages_arrive_once_and_in_order_whatever_their_size(
    pair: tuple[PostgresReplicas, PostgresReplicas],
) -> None:
    first, second = pair
    sent = [b"before anybody listens", *(b"x" * size for size in (0, 10, 100_000)), *(b"%d" % n for n in range(20))]

    assert await first.send(second.replica, sent[0])
    async with aclosing(second.receive()) as received:
        with anyio.fail_after(60):
            found = [await anext(received)]
            for message in sent[1:]:
                assert await first.send(second.replica, message)
            found += [await anext(received) for _ in sent[1:]]

    assert found == sent


async def test_mail_that_came_while_the_connection_was_lost_is_fetched(
    pair: tuple[PostgresReplicas, PostgresReplicas], postgres: RunningServer
) -> None:
    first, second = pair
    async with aclosing(second.receive()) as received:
        with anyio.fail_after(60):
            await first.send(second.replica, b"one")
            assert await anext(received) == b"one"
            run_sql(
                postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onetool'"
            )
            sent = False
            while not sent:
                try:
                    sent = await first.send(second.replica, b"two")
                except OSError:
                    await anyio.sleep(0.05)

            assert await anext(received) == b"two"


async def test_a_run_is_known_where_it_goes_on_and_to_nobody_but_its_person(
    pair: tuple[PostgresReplicas, PostgresReplicas], database: str, postgres: RunningServer
) -> None:
    first, second = pair
    await first.add_run("ada", "r1")
    await second.add_run("ada", "r2")

    assert [(each.run, each.replica, each.alive) for each in await second.runs_of("ada")] == [
        ("r1", first.replica, True),
        ("r2", second.replica, True),
    ]
    assert await second.runs_of("bob") == []
    kill(database, postgres, first.replica)
    assert [(each.run, each.alive) for each in await second.runs_of("ada")] == [("r1", False), ("r2", True)]
    await first.drop_run("ada", "r1")
    await second.drop_run("ada", "r2")
    assert await second.runs_of("ada") == []


async def test_what_a_client_has_read_at_one_replica_is_known_at_the_other(
    pair: tuple[PostgresReplicas, PostgresReplicas],
) -> None:
    first, second = pair
    nothing = RememberedClient(frozenset(), frozenset())
    some = RememberedClient(frozenset({"mail.read"}), frozenset({("mail.send", "policy.ask names mail.*")}))
    assert await second.recall("ada") == nothing

    await first.remember("ada", some)
    await first.remember("ada", some)

    assert await second.recall("ada") == some
    assert await second.recall("bob") == nothing


async def test_to_forget_something_leaves_no_transaction_open(database: str) -> None:
    async def read(connection: Connection) -> int:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return int(await connection.fetchval("SELECT 1"))

    with closing(PostgresLink(database, most_connections=1)) as link:
        this = name_replica("http://127.0.0.1:8001/mcp", version="1", link=link.name)
        await PostgresReplicas(link, this).remember("ada", RememberedClient(), forget={"mail.read"})

        assert await link.run(read) == 1
