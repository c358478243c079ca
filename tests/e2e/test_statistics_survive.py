"""Statistics survive: servers that are killed at any moment, several at once, and files that somebody broke."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.e2e.raw_server import WAIT, start_raw_server

RECORD_FOREVER = Path(__file__).parents[1] / "programs" / "record_forever.py"
BATCH = 10
SERVERS = 3
KILLED = 8  # times


def check(file: Path) -> int:
    """The number of calls in a database that is whole."""
    connection = sqlite3.connect(file, timeout=WAIT)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute("SELECT COUNT(*) FROM calls").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.long
def test_killing_writers_at_any_moment_corrupts_nothing_and_leaves_whole_batches(tmp_path: Path) -> None:
    file = tmp_path / "state" / "stats.db"
    chance = random.Random(5)
    before = 0
    for _ in range(KILLED):
        writers = [subprocess.Popen([sys.executable, RECORD_FOREVER, file], stdout=subprocess.PIPE) for _ in range(2)]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"written\n"
        time.sleep(chance.random() / 20)  # any moment of what follows
        for writer in writers:
            writer.kill()
            writer.communicate(timeout=WAIT)

        after = check(file)
        assert after > before
        assert after % BATCH == 0
        before = after


def test_servers_that_are_killed_lose_at_most_their_last_moment(tmp_path: Path) -> None:
    database = tmp_path / ".onetool" / "state" / "stats.db"
    with (
        start_raw_server(tmp_path) as first,
        start_raw_server(tmp_path) as second,
        start_raw_server(tmp_path) as third,
    ):
        servers = [first, second, third]
        for server in servers:
            server.initialize()
        for server in servers:
            assert not server.run("[demo.upper(text=str(n)) for n in range(50)]\nNone")["isError"]
            assert not server.run("ot.stats()")["isError"]  # writes what was noted
        for server in servers:
            server.start_run("while True:\n    demo.upper(text='x')\n    ot.stats()")
        time.sleep(0.3)
        for server in servers:
            server.process.kill()
            server.wait_for_exit()

    assert check(database) >= SERVERS * 50


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + b"\xff" * 9000], ids=["text", "broken"])
def test_a_run_is_not_disturbed_by_a_database_that_somebody_broke(tmp_path: Path, content: bytes) -> None:
    database = tmp_path / ".onetool" / "state" / "stats.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(content)

    with start_raw_server(tmp_path) as server:
        server.initialize()
        first = server.run("demo.upper(text='a')")
        stats = yaml.safe_load(server.run("ot.stats()")["content"][0]["text"])

    assert first["content"][0]["text"] == "A"
    assert stats["total_calls"] == 1
    assert [file.read_bytes() for file in database.parent.glob("stats.db.damaged-*")] == [content]


def test_a_server_that_is_asked_to_end_has_written_everything(tmp_path: Path) -> None:
    with start_raw_server(tmp_path) as server:
        server.initialize()
        server.run("[demo.upper(text=str(n)) for n in range(20)]\nNone")
        server.close_stdin()
        server.wait_for_exit()

    assert check(tmp_path / ".onetool" / "state" / "stats.db") == 20


def test_where_statistics_cannot_be_kept_runs_go_on_and_one_is_told(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool" / "state").write_text("in the way")

    with start_raw_server(tmp_path) as server:
        server.initialize()
        first = server.run("demo.upper(text='a')")
        stats = server.run("ot.stats()")
        again = server.run("demo.upper(text='b')")

    assert [first["content"][0]["text"], again["content"][0]["text"]] == ["A", "B"]
    assert stats["isError"]
    assert "cannot be used" in stats["content"][0]["text"]
