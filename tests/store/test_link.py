"""The link to PostgreSQL: tables made once, work on any thread, a database that goes and comes back."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from urllib.parse import quote

import anyio
import anyio.to_thread
import asyncpg
import pytest

from ot.store.owner import StoreUnavailableError
from ot.store.postgres.group_commit import Connection
from ot.store.postgres.link import PostgresLink
from ot.store.postgres.migrations import LOCK, SCHEMA, find_migrations
from tests.packs.db.servers import PASSWORD, RunningServer
from tests.postgres import address_of, create_database, run_sql

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("databases")]


async def one(connection: Connection) -> int:
    found: int = await connection.fetchval("SELECT 1")
    return found


async def one_in_a_transaction(connection: Connection) -> int:
    """Fails inside another transaction, as whatever reads at one moment does."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await one(connection)


async def test_work_is_awaited_on_a_loop_and_waited_for_on_a_thread(database: str) -> None:
    with closing(PostgresLink(database)) as link:
        assert await link.run(one) == 1
        assert link.run_now(one) == 1


def test_of_many_who_come_at_once_one_makes_the_tables(postgres: RunningServer) -> None:
    create_database(postgres, "fresh")
    links = [PostgresLink(address_of(postgres, "fresh")) for _ in range(5)]
    found: list[int] = []

    threads = [threading.Thread(target=lambda link=link: found.append(link.run_now(one))) for link in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for link in links:
        link.close()

    assert found == [1] * 5
    applied = run_sql(postgres, "SELECT number FROM onetool.migrations ORDER BY number", database="fresh")
    assert [int(line) for line in applied.split()] == list(find_migrations())


def test_a_migration_that_fails_leaves_nothing_behind(postgres: RunningServer) -> None:
    create_database(postgres, "taken")
    run_sql(postgres, "CREATE SCHEMA onetool; CREATE TABLE onetool.kept_names (other integer)", database="taken")

    with closing(PostgresLink(address_of(postgres, "taken"))) as link, pytest.raises(asyncpg.DuplicateTableError):
        link.run_now(one)

    assert run_sql(postgres, "SELECT count(*) FROM pg_tables WHERE schemaname = 'onetool'", database="taken") == "1"


def test_tables_of_a_newer_version_are_left_alone(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "newer", template=template)
    run_sql(postgres, "INSERT INTO onetool.migrations VALUES (998)", database="newer")

    with closing(PostgresLink(address_of(postgres, "newer"))) as link, pytest.raises(StoreUnavailableError) as caught:
        link.run_now(one)

    assert "a newer OneTool has changed its tables (migration 998)" in str(caught.value)


def test_additions_of_a_newer_version_are_no_reason_to_stop(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "added", template=template)
    run_sql(postgres, "INSERT INTO onetool.migrations VALUES (998, now(), true, '99')", database="added")

    with closing(PostgresLink(address_of(postgres, "added"))) as link:
        assert link.run_now(one) == 1

    run_sql(postgres, "INSERT INTO onetool.migrations VALUES (999, now(), false, '99')", database="added")
    with closing(PostgresLink(address_of(postgres, "added"))) as link, pytest.raises(StoreUnavailableError) as caught:
        link.run_now(one)
    assert "a newer OneTool 99 has changed its tables (migration 999)" in str(caught.value)


def test_tables_of_before_builds_were_noted_are_brought_up_to_date(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "unnoted", template=template)
    run_sql(postgres, "ALTER TABLE onetool.migrations DROP COLUMN build, DROP COLUMN additive", database="unnoted")

    with closing(PostgresLink(address_of(postgres, "unnoted"))) as link:
        assert link.run_now(one) == 1


async def test_a_migration_may_take_longer_than_a_statement(postgres: RunningServer) -> None:
    create_database(postgres, "slow")
    address = address_of(postgres, "slow")
    holder = await asyncpg.connect(address)
    await holder.execute("SELECT pg_advisory_lock($1)", LOCK)
    with closing(PostgresLink(address, statement=0.2)) as link:
        waiting = link.submit(one)
        asked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with anyio.fail_after(60):
            while not await holder.fetchval(asked) and not waiting.done():
                await anyio.sleep(0.01)
        await holder.execute("SELECT pg_sleep(1.5)")  # longer than both limits
        await holder.close()

        assert await anyio.to_thread.run_sync(waiting.result, 60) == 1


async def test_indexes_are_built_while_others_write(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "indexed", template=template)
    undone = "DROP INDEX audit_lines_latest; DELETE FROM migrations WHERE number = 72"
    run_sql(postgres, f"SET search_path = onetool; {undone}", database="indexed")
    address, line = address_of(postgres, "indexed"), "INSERT INTO onetool.audit_lines VALUES ('p', $1, 0, 'w', 0, '')"
    holder, writer = await asyncpg.connect(address), await asyncpg.connect(address)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute(line, "a")

    with closing(PostgresLink(address)) as builder, closing(PostgresLink(address)) as other:
        building = builder.submit(one)
        asked = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX %' AND wait_event_type = 'Lock'"
        with anyio.fail_after(60):
            while not await writer.fetchval(asked) and not building.done():
                await anyio.sleep(0.01)
        await writer.execute("SET lock_timeout = '60s'")
        await writer.execute(line, "b")
        assert await other.run(one) == 1
        assert not building.done()
        await transaction.commit()

        assert await anyio.to_thread.run_sync(building.result, 60) == 1
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('onetool.audit_lines_latest')"
    assert await writer.fetchval(valid)
    assert await writer.fetchval("SELECT additive FROM onetool.migrations WHERE number = 72")
    await holder.close()
    await writer.close()


def test_a_role_that_may_not_use_the_tables_is_told_so(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "others", template=template)
    run_sql(postgres, "CREATE ROLE weak LOGIN")
    address = address_of(postgres, "others").replace("admin@", "weak@")

    with closing(PostgresLink(address)) as link, pytest.raises(StoreUnavailableError, match="no schema"):
        link.run_now(one)


def test_a_mistake_in_a_statement_is_none_of_the_database(database: str) -> None:
    with closing(PostgresLink(database)) as link:
        with pytest.raises(asyncpg.UndefinedTableError):
            link.run_now(lambda connection: connection.execute("SELECT * FROM nothing"))
        with pytest.raises(asyncpg.exceptions.DataError):
            link.run_now(lambda connection: connection.execute("SELECT $1::integer", "no number"))

        assert not link.problem


def test_a_statement_that_is_not_executed_leaves_no_transaction_open(database: str) -> None:
    with closing(PostgresLink(database, most_connections=1)) as link:
        with pytest.raises(asyncpg.exceptions.DataError):
            link.fetch_now("SELECT count(*) FROM kept_names WHERE expires = $1", "no number")

        assert link.run_now(one_in_a_transaction) == 1


def test_a_statement_for_no_rows_leaves_no_transaction_open(database: str) -> None:
    forget = "DELETE FROM kept_names WHERE name = $1"
    with closing(PostgresLink(database, most_connections=1)) as link:
        link.run_now(lambda connection: connection.executemany(forget, []))

        assert link.run_now(one_in_a_transaction) == 1


def test_a_connection_that_the_database_ended_is_said_to_be_ended(postgres: RunningServer, database: str) -> None:
    async def be_ended(connection: Connection) -> int:
        process = await connection.fetchval("SELECT pg_backend_pid()")
        run_sql(postgres, f"SELECT pg_terminate_backend({process}, 10000)")
        for _ in range(2):  # turns of the loop, until the database's farewell is read, and not yet the end
            await asyncio.sleep(0)
        return await one(connection)

    with closing(PostgresLink(database)) as link, pytest.raises(StoreUnavailableError) as error:
        link.run_now(be_ended)

    assert "ended the connection" in error.value.reason


def test_a_password_is_told_nobody_where_it_is_wrong(postgres: RunningServer) -> None:
    address = f"postgresql://admin:hidden-word@127.0.0.1:{postgres.port}/postgres"

    with closing(PostgresLink(address)) as link, pytest.raises(StoreUnavailableError) as caught:
        link.run_now(one)

    assert f"PostgreSQL at 127.0.0.1:{postgres.port}/postgres cannot be used: password" in str(caught.value)
    assert "hidden-word" not in str(caught.value)
    assert link.password == "hidden-word"  # so that it can be masked elsewhere


def test_the_address_says_whether_the_way_is_encrypted(postgres: RunningServer, template: str) -> None:
    create_database(postgres, "ways", template=template)
    address = f"postgresql://admin:{quote(PASSWORD, safe='')}@127.0.0.1:{postgres.port}/ways"
    asked = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

    def is_encrypted(mode: str) -> bool:
        with closing(PostgresLink(f"{address}?sslmode={mode}")) as link:
            return link.run_now(lambda connection: connection.fetchval(asked)) is True

    assert is_encrypted("require")
    assert not is_encrypted("disable")


async def test_rows_of_all_who_wait_are_committed_together(database: str) -> None:
    add = "INSERT INTO kept_names VALUES ('group', 'local', $1, $2, pg_current_xact_id()::text, 0)"
    with closing(PostgresLink(database)) as link:
        await link.ready()

        async def write(number: int) -> None:
            link.commits.add(add, "together", str(number))
            await link.commits.settle()

        async with (
            asyncpg.create_pool(database, min_size=1) as pool,
            anyio.create_task_group() as group,
            pool.acquire() as holder,
            holder.transaction(),
        ):
            await holder.execute(f"LOCK TABLE {SCHEMA}.kept_names IN EXCLUSIVE MODE")  # until all rows have come
            for number in range(50):
                group.start_soon(write, number)
            await anyio.wait_all_tasks_blocked()

        asked = "SELECT count(*), count(DISTINCT handle) AS transactions FROM kept_names WHERE project = 'together'"
        found = await link.run(lambda connection: connection.fetchrow(asked))
    assert found is not None
    assert found["count"] == 50
    assert found["transactions"] <= 2


async def test_who_waits_is_told_that_rows_were_not_committed(database: str) -> None:
    add = "INSERT INTO kept_names VALUES ('group', 'local', 'twice', 'name', 'handle', 0)"
    with closing(PostgresLink(database)) as link:
        link.commits.add(add)
        link.commits.add(add)
        with pytest.raises(StoreUnavailableError, match="duplicate key"):
            await link.commits.settle()

        link.commits.add(add)
        await link.commits.settle()
