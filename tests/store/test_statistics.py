"""Statistics in either store: the same figures from the same notes, of their owner alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ot.errors import ToolError
from ot.registry.registry import ToolRegistry
from ot.stats.figures import Summary, by_pack, by_person
from ot.stats.recorder import Recorder
from ot.stats.summary import summarize
from ot.store.opening import Backend, Store
from ot.store.parts import STATS_FILE
from ot.store.postgres.backend import PostgresBackend
from tests.packs.db.servers import RunningServer
from tests.services.cable import lay_cable
from tests.store.conftest import link_of, open_postgres
from tests.unit.stats.noted import note_call, note_run

Opened = Callable[..., Any]


@contextmanager
def recording(store: Store) -> Iterator[Recorder]:
    recorder = Recorder(store.open_statistics, interval=3600.0)
    try:
        yield recorder
    finally:
        recorder.close()


def figures(recorder: Recorder, period: str = "all") -> Summary:
    with recorder.look(0.0) as connection:
        return summarize(connection, period=period, tool="", registry=ToolRegistry(), own_definition="")


def test_servers_count_together_and_people_apart(open_store: Opened, tmp_path: Path) -> None:
    ada = f"ada of {tmp_path.name}"
    with (
        recording(open_store(ada, tmp_path / "ada")) as first,
        recording(open_store(ada, tmp_path / "ada")) as second,
    ):
        for recorder in (first, second):
            run = note_run(recorder, client="odd\0name")
            note_call(recorder, run=run)
            note_call(recorder, "demo.upper", run=run, error="ValueError")
            note_call(recorder, "old.tool", ago=8 * 86400)
            recorder.model("provider", "model", 10, 20, 0.5, 1.0)
            recorder.flush()
        summary, week = figures(first), figures(first, "week")
        link = link_of(open_store(ada))
        backend = Backend() if link is None else PostgresBackend(link)
        sums = backend.sum_statistics([(ada, tmp_path / "ada" / STATS_FILE)], 0.0)
    with recording(open_store(f"bob of {tmp_path.name}", tmp_path / "bob")) as recorder:
        nothing = figures(recorder)

    person = next(each for each in by_person(sums) if each.person == ada)
    assert (person.runs, person.calls, person.failed_calls, dict(person.packs)) == (2, 6, 2, {"demo": 4, "old": 2})
    assert {each.pack for each in by_pack(sums)} >= {"demo", "old"}
    assert (summary.runs, summary.total_calls, summary.total_errors) == (2, 6, 2)
    assert [(tool.tool, tool.calls, tool.errors) for tool in summary.tools] == [
        ("demo.upper", 4, 2),
        ("old.tool", 2, 0),
    ]
    assert [(model.requests, model.input_tokens, model.cost) for model in summary.models] == [(2, 20, 1.0)]
    assert week.total_calls == 4
    assert (nothing.runs, nothing.total_calls) == (0, 0)


@pytest.mark.xdist_group("databases")
def test_notes_wait_for_a_database_that_is_gone(postgres: RunningServer, database: str, tmp_path: Path) -> None:
    with lay_cable(postgres) as cable:
        address = database.replace("@/", f"@127.0.0.1:{cable.port}/").partition("?")[0] + "?sslmode=disable"
        with open_postgres(address, tmp_path, "waits") as store, recording(store) as recorder:
            note_call(recorder)
            recorder.flush()
            cable.cut()
            note_call(recorder)
            recorder.flush()
            assert recorder.problem.startswith("PostgreSQL at 127.0.0.1")
            assert recorder.dropped == 0
            with pytest.raises(ToolError, match="the statistics cannot be read: PostgreSQL at"):
                figures(recorder)
            waiting = list(recorder._pending)

    with open_postgres(database, tmp_path, "waits") as store, recording(store) as recorder:
        assert len(waiting) == 1
        assert figures(recorder).total_calls == 1
