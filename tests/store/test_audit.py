"""The audit log in a store that replicas share: every line of every replica, and every sign that one is missing."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from ot.audit.latest import LatestCalls, read_latest
from ot.audit.log import LARGEST_FILE, AuditLog, summarize
from ot.audit.reading import find_chains
from ot.clients.caller import Caller
from ot.config.models import AuditSettings
from ot.effects import Effect
from ot.store.opening import Backend, Store
from ot.store.parts import AuditRows
from ot.store.postgres.audit import rows_of_everybody
from ot.text.redaction import Redactor
from tests.packs.db.servers import RunningServer
from tests.services.cable import lay_cable
from tests.store.conftest import KEPT, link_of, open_postgres

pytestmark = pytest.mark.anyio


def open_log(store: Store, folder: Path, **bounds: Any) -> AuditLog:
    return AuditLog(folder, AuditSettings(), project=folder, redactor=Redactor(), rows=store.audit, **bounds)


def begin(log: AuditLog, tool: str) -> int:
    given = summarize({}, log.redactor)
    return log.begin(tool, Effect.UNKNOWN, Caller(client="test"), depth=0, allowed_by="", given=given)


def call(log: AuditLog, tool: str) -> None:
    log.end(begin(log, tool), "ok", 0.1)


def read(store: Store) -> tuple[list[tuple[str, str]], list[str]]:
    calls, findings, _ = read_latest([store.audit])
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
        everybody, bob = (read_latest([rows_of_everybody(link, name)]).calls for name in ("", "BO"))
        with rows_of_everybody(link, "").copied() as folder:
            assert len(find_chains(folder)) == 3

        calls, findings = read(first)

        assert sorted(each.tool for each in everybody) == [
            "demo.of_bob",
            "demo.open",
            "demo.open",
            "demo.t0",
            "demo.t1",
        ]
        assert [each.tool for each in bob] == ["demo.of_bob"]
        assert calls == [("demo.open", "running")] * 2 + [("demo.t0", "ok"), ("demo.t1", "ok")]
        assert findings == []
        assert read(other) == ([("demo.of_bob", "ok")], [])

        changed = "UPDATE audit_lines SET lines = overlay(lines placing 'x'::bytea from 20) WHERE principal = 'ada'"
        await link.run(lambda connection: connection.execute(f"{changed} AND place > 0"))
        assert any("a line was changed" in reason for reason in read(second)[1])


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


def pages_of(logs: list[AuditRows], most: int, **chosen: Any) -> Iterator[LatestCalls]:
    before = None
    while True:
        page = read_latest(logs, most=most, before=before, **chosen)
        yield page
        if page.older is None:
            return
        before = page.older


@pytest.fixture(params=[2000, LARGEST_FILE], ids=["many files", "large files"])
async def filled(request: pytest.FixtureRequest, open_store: Callable[..., Store], tmp_path: Path) -> Store:
    """A log of two processes, with files of some calls each; calls that end late, never, or are refused."""
    store = open_store(f"ada of {tmp_path.name}")
    logs = [open_log(store, tmp_path / "state" / "audit", largest_file=request.param) for _ in range(2)]
    late = []
    for number in range(12):
        for log in logs:
            begun = begin(log, f"demo.t{number}")
            if number % 5 == 2:
                late.append((log, begun))
            elif number != 10:
                log.end(begun, "ok", 0.1)
        if number == 9:
            logs[0].refused("mail.send", Caller(), depth=0, refused_by="policy", given=summarize({}, Redactor()))
            for log, each in late:
                log.asked(each, "yes")
                log.end(each, "late", 0.1)
    logs[0].close()
    logs[1].flush()
    await settle(store)
    return store


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
async def test_pages_of_the_latest_calls_have_each_call_once_and_whole(filled: Store, most: int) -> None:
    pages = [*pages_of([filled.audit], most)]

    calls = [call for page in pages for call in page.calls]
    assert [call.time for call in calls] == sorted((call.time for call in calls), reverse=True)
    assert all(len(page.calls) == most for page in pages[:-1])
    assert not any(page.findings for page in pages)
    assert len({(call.chain, call.tool) for call in calls}) == len(calls) == 25
    outcomes = Counter((call.outcome if call.ms is not None else "none", *call.asked) for call in calls)
    assert outcomes == {("ok",): 18, ("late", "yes"): 4, ("none",): 3}
    assert Counter(call.tool for call in calls) == Counter(call.tool for call in read_latest([filled.audit]).calls)


async def test_pages_of_a_tool_read_no_more_lines_than_they_may(filled: Store) -> None:
    pages = [*pages_of([filled.audit], 2, tool="demo.t3", most_lines=10)]

    assert [call.tool for page in pages for call in page.calls] == ["demo.t3"] * 2
    assert len(pages) > 4
    assert [call.tool for call in read_latest([filled.audit], tool="mail").calls] == ["mail.send"]


async def test_calls_since_a_moment_are_read_and_nothing_older(filled: Store) -> None:
    calls = read_latest([filled.audit]).calls
    middle = calls[10]

    found = read_latest([filled.audit], since=datetime.fromisoformat(middle.time).timestamp())

    assert found.older is None
    assert Counter(call.tool for call in found.calls) == Counter(
        call.tool for call in calls if call.time >= middle.time
    )


async def test_a_page_of_the_latest_calls_opens_no_older_files(tmp_path: Path) -> None:
    store = Backend().build_store(tmp_path / "state", principal="ada", journal=KEPT)
    folder = tmp_path / "state" / "audit"
    log = open_log(store, folder)
    for _ in range(3):
        call(log, "demo.old")
    log.close()
    [old] = folder.iterdir()
    log = open_log(store, folder)
    for _ in range(5):
        call(log, "demo.new")
    old.unlink()
    os.mkfifo(old)  # whoever opens it says so
    os.utime(old, (time.time() - 60, time.time() - 60))

    page = read_latest([store.audit], most=3)

    assert [each.tool for each in page.calls] == ["demo.new"] * 3
    assert not page.findings


async def _is_gone(store: Store) -> bool:
    try:
        await settle(store)
    except OSError:
        return True
    link = link_of(store)
    return link is not None and bool(link.problem)
