"""The database: made, migrated, shared, repaired and pruned."""

from __future__ import annotations

import multiprocessing
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ot.errors import DatabaseUnavailableError
from ot.store.databases import open_database, transaction
from ot.store.embedded_statistics import MIGRATIONS, EmbeddedStatRows
from tests.unit.stats.noted import file_of, note_call, note_run, open_for_reading, open_recorder, read_summary

WRITERS, BATCHES = 4, 10
_OPEN_AND_CLOSE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM calls").fetchall()
connection.close()
"""


def make_file(folder: Path) -> Path:
    """A database with one call in it."""
    with open_recorder(folder) as recorder:
        note_call(recorder)
    return file_of(recorder)


def test_a_database_of_an_older_version_is_brought_up_to_date_with_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "state" / "stats.db"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as old, old:
        for step in MIGRATIONS[0]:
            old.execute(step)
        old.execute("PRAGMA user_version = 1")
        old.execute(
            "INSERT INTO calls VALUES (1, 0, 0, 'demo.upper', ?, 0.5, '', 10, 'data', 20, 'data')", (time.time(),)
        )
    old.close()

    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.model("anthropic", "opus", 1, 1, None, 1.0)
        summary = read_summary(recorder)

    assert summary.total_calls == 2
    assert len(summary.models) == 1


def test_a_log_in_use_outlives_another_connection_of_the_process_and_another_process(tmp_path: Path) -> None:
    file = make_file(tmp_path)
    with closing(open_database(file, MIGRATIONS)) as writing:
        writing.execute("CREATE TABLE kept (id INTEGER)")
        open_database(file, MIGRATIONS).close()
        subprocess.run([sys.executable, "-c", _OPEN_AND_CLOSE, file], check=True)

        assert file.with_name(f"{file.name}-wal").exists()
        writing.execute("INSERT INTO kept VALUES (1)")
    with open_for_reading(file) as connection:
        assert connection.execute("SELECT id FROM kept").fetchall() == [(1,)]


def test_a_migration_that_breaks_off_changes_nothing(tmp_path: Path) -> None:
    file = make_file(tmp_path)
    broken = (*MIGRATIONS, ("CREATE TABLE later (id INTEGER)", "this is no SQL"))

    with pytest.raises(sqlite3.OperationalError):
        open_database(file, broken)

    with open_for_reading(file) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'later'").fetchall()


def test_a_database_of_a_newer_version_is_reported_and_left_alone(tmp_path: Path) -> None:
    file = make_file(tmp_path)
    with closing(sqlite3.connect(file)) as newer, newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    before = file.read_bytes()

    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()
        with pytest.raises(DatabaseUnavailableError, match="newer OneTool"):
            read_summary(recorder)

    assert "schema 99" in recorder.problem
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"not a database at all" * 500, id="another file"),
        pytest.param(lambda data: data[:4096] + b"\xff" * (len(data) - 4096), id="pages overwritten"),
        pytest.param(lambda data: data[: len(data) // 2 + 100], id="cut off"),
    ],
)
def test_a_damaged_database_is_set_aside_and_a_new_one_begun(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    file = make_file(tmp_path)
    file.write_bytes(damage(file.read_bytes()))

    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        summary = read_summary(recorder)

    assert (summary.total_calls, recorder.problem, recorder.dropped) == (1, "", 0)
    assert len(list(file.parent.glob("stats.db.damaged-*"))) == 1


def test_a_database_that_is_removed_meanwhile_is_begun_anew(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()
        for file in file_of(recorder).parent.iterdir():
            file.unlink()
        note_call(recorder)

        assert read_summary(recorder).total_calls == 1


def test_reading_a_damaged_database_says_so(tmp_path: Path) -> None:
    file = make_file(tmp_path)
    file.write_bytes(b"x" * 10_000)

    with pytest.raises(DatabaseUnavailableError, match="not a database"), open_for_reading(file):
        pass


def test_a_link_in_place_of_the_database_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "stats.db").symlink_to(target)

    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()

    assert recorder.problem
    assert target.read_text() == ""


def test_while_another_holds_the_database_notes_wait_and_nothing_is_lost(tmp_path: Path) -> None:
    other = open_database(make_file(tmp_path), MIGRATIONS)
    with open_recorder(tmp_path, patience=0.05) as recorder:
        note_call(recorder)
        with transaction(other):
            recorder.flush()
            assert len(recorder._pending) == 1
        other.close()

        assert read_summary(recorder).total_calls == 2


def write_many(folder: Path) -> None:
    with open_recorder(folder) as recorder:
        for _ in range(BATCHES):
            note_call(recorder, run=note_run(recorder))
            recorder.flush()


@pytest.mark.long
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path,)) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    with open_recorder(tmp_path) as recorder:
        summary = read_summary(recorder)

    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    assert (summary.total_calls, summary.runs) == (WRITERS * BATCHES, WRITERS * BATCHES)


def test_what_is_too_old_and_what_is_too_much_is_forgotten(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        for days in (400, 20, 10, 0.1):
            note_call(recorder, ago=days * 86400)
            note_run(recorder, ago=days * 86400)
        recorder.flush()
        kept = read_summary(recorder)
        with closing(EmbeddedStatRows(file_of(recorder))) as rows:
            rows.prune(0.0, most_rows=1)
        few = read_summary(recorder)

    assert (kept.total_calls, kept.runs) == (3, 3)
    assert (few.total_calls, few.runs) == (1, 1)


def test_names_that_cannot_be_stored_are_stored_as_well_as_can_be(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_run(recorder, client="\ud800" + "x" * 10_000, error="'; DROP TABLE runs; --")
        summary = read_summary(recorder)

    assert summary.clients[0].client.startswith("?xxx")
    assert len(summary.clients[0].client) <= 120
