"""The audit log in a store that replicas share: every line of every replica, and every sign that one is missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from ot.audit.calls import read_calls
from ot.audit.log import AuditLog, summarize
from ot.audit.reading import find_chains
from ot.clients.caller import Caller
from ot.config.models import AuditSettings
from ot.effects import Effect
from ot.store.opening import Store
from ot.store.postgres.audit import copy_of_everybody
from ot.text.redaction import Redactor
from tests.packs.db.servers import RunningServer
from tests.services.cable import lay_cable
from tests.store.conftest import link_of, open_postgres

pytestmark = pytest.mark.anyio


def open_log(store: Store, folder: Path) -> AuditLog:
    return AuditLog(folder, AuditSettings(), project=folder, redactor=Redactor(), rows=store.audit)


def call(log: AuditLog, tool: str) -> None:
    begun = log.begin(
        tool, Effect.UNKNOWN, Caller(client="test"), depth=0, allowed_by="", given=summarize({}, log.redactor)
    )
    log.end(begun, "ok", 0.1)


def read(store: Store) -> tuple[list[tuple[str, str]], list[str]]:
    with store.audit.copied() as folder:
        calls, findings = read_calls(find_chains(folder))
    return sorted((each.tool, each.outcome) for each in calls), [each.reason for each in findings]


async def settle(store: Store) -> None:
    if (link := link_of(store)) is not None:
        await link.commits.settle()


@pytest.mark.xdist_group("databases")
async def test_calls_of_all_replicas_are_read_by_their_owner_alone(database: str, tmp_path: Path) -> None:
    with (
        open_postgres(database, tmp_path, "ada") as first,
        open_postgres(database, tmp_path, "ada") as second,
        open_postgres(database, tmp_path, "bob") as other,
    ):
        for number, store in enumerate((first, second)):
            log = open_log(store, tmp_path / str(number))
            call(log, f"demo.t{number}")
            log.begin("demo.open", Effect.UNKNOWN, Caller(), depth=0, allowed_by="", given=summarize({}, log.redactor))
            await settle(store)

        link = link_of(first)
        assert link is not None
        call(open_log(other, tmp_path / "other"), "demo.of_bob")
        await settle(other)
        with copy_of_everybody(link, since=0.0, until=math.inf, person="") as folders:
            everybody = [{each.tool for each in read_calls(find_chains(folder))[0]} for folder in folders]
        with copy_of_everybody(link, since=0.0, until=math.inf, person="BO") as folders:
            assert len(folders) == 1
        with copy_of_everybody(link, since=0.0, until=1.0, person="") as folders:
            assert folders == []

        calls, findings = read(first)

        assert everybody == [{"demo.open", "demo.t0", "demo.t1"}, {"demo.of_bob"}]
        assert calls == [("demo.open", "running")] * 2 + [("demo.t0", "ok"), ("demo.t1", "ok")]
        assert findings == []
        assert read(other) == ([("demo.of_bob", "ok")], [])

        changed = "UPDATE audit_lines SET lines = overlay(lines placing 'x'::bytea from 20) WHERE principal = 'ada'"
        await link.run(lambda connection: connection.execute(f"{changed} AND place > 0"))
        assert "this line was changed" in read(second)[1]


@pytest.mark.xdist_group("databases")
async def test_lines_wait_for_a_database_that_is_gone(postgres: RunningServer, database: str, tmp_path: Path) -> None:
    with lay_cable(postgres) as cable:
        address = database.replace("@/", f"@127.0.0.1:{cable.port}/").partition("?")[0] + "?sslmode=disable"
        with open_postgres(address, tmp_path, "waits") as store:
            log = open_log(store, tmp_path / "log")
            call(log, "demo.before")
            await settle(store)
            cable.cut()
            call(log, "demo.meanwhile")
            with pytest.raises(OSError, match="PostgreSQL at"):
                await settle(store)
            cable.mend()
            call(log, "demo.after")
            with anyio.fail_after(60):
                while await _is_gone(store):
                    await anyio.sleep(0.05)

            calls, findings = read(store)

    assert calls == [("demo.after", "ok"), ("demo.before", "ok"), ("demo.meanwhile", "ok")]
    assert findings == []


async def test_calls_are_read_by_their_owner(open_store: Callable[..., Store], tmp_path: Path) -> None:
    store = open_store(f"ada of {tmp_path.name}")
    log = open_log(store, tmp_path / "state" / "audit")

    call(log, "demo.t")
    await settle(store)

    assert read(store) == ([("demo.t", "ok")], [])
    log.close()


async def _is_gone(store: Store) -> bool:
    try:
        await settle(store)
    except OSError:
        return True
    link = link_of(store)
    return link is not None and bool(link.problem)
