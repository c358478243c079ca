"""The recorder: notes cost little, are written in batches, and never disturb what they are about."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from ot.run.kernel_session import RunView
from ot.stats.recorder import MOST_PENDING, Recorder
from tests.engine import open_engine
from tests.opened_executor import add_tool, open_executor, wait_until
from tests.unit.stats.noted import file_of, note_call, open_for_reading, open_recorder, read_summary


def rows(recorder: Recorder, table: str) -> list[tuple[Any, ...]]:
    with open_for_reading(file_of(recorder)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def test_nothing_is_opened_before_something_is_noted(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        recorder.flush()

    assert not list(tmp_path.iterdir())


def test_what_is_noted_is_written_when_the_recorder_is_closed(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)

    assert len(rows(recorder, "calls")) == 1


async def test_what_is_noted_is_written_by_itself(tmp_path: Path) -> None:
    with open_recorder(tmp_path, interval=0.01) as recorder:
        for _ in range(3):
            note_call(recorder)
            await wait_until(lambda: not recorder._pending)

        await wait_until(lambda: len(rows(recorder, "calls")) == 3)


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()
        modes = {file.name: file.stat().st_mode & 0o777 for file in file_of(recorder).parent.iterdir()}

    assert set(modes) == {"stats.db", "stats.db-wal", "stats.db-shm"}
    assert set(modes.values()) == {0o600}
    assert file_of(recorder).parent.stat().st_mode & 0o777 == 0o700


def test_neither_arguments_nor_results_are_stored(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, value="my secret diary")
        recorder.run(1, "test", 0.1, "", "print('my secret diary')", "my secret diary", 0)

    assert b"diary" not in b"".join(file.read_bytes() for file in file_of(recorder).parent.iterdir())


def test_threads_may_note_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with open_recorder(tmp_path, interval=0.001) as recorder:

        def note_many() -> None:
            for _ in range(500):
                note_call(recorder)

        threads = [threading.Thread(target=note_many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(rows(recorder, "calls")) == 4000


async def test_a_run_that_is_cancelled_is_recorded_as_that(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        view, recorder = RunView(), app.executor.recorder
        assert recorder is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(app.runner.run, "while True: pass", view=view))
            await wait_until(lambda: view.begun)
            tasks.cancel_scope.cancel()
        summary = read_summary(recorder)

    assert (summary.runs, summary.failed_runs) == (1, 1)


async def test_without_a_recorder_a_run_is_just_a_run(tmp_path: Path) -> None:
    async with open_engine(tmp_path, config="stats: {enabled: false}") as app:
        answers = [await app.runner.run("1"), await app.runner.run("2")]

    assert [answer.text for answer in answers] == ["1", "2"]


def test_memory_is_bounded_where_nothing_can_be_written(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        for _ in range(MOST_PENDING + 10):
            recorder.call("demo.upper", seconds=0.0)

        assert recorder.dropped == 10


def test_a_folder_that_cannot_be_made_is_a_problem_and_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()

    assert recorder.problem
    assert recorder.dropped == 1


def test_once_it_can_be_written_again_the_problem_is_over(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        recorder.flush()
        (tmp_path / "state").unlink()
        note_call(recorder)
        recorder.flush()

    assert recorder.problem == ""
    assert len(rows(recorder, "calls")) == 1


def test_requests_to_models_are_summed_up(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        recorder.model("anthropic", "opus", 100, 20, 0.5, 1.0)
        recorder.model("anthropic", "opus", 300, 40, 0.25, 3.0)
        recorder.model("ollama", "small", 10, 5, None, 0.5)
        summary = read_summary(recorder)

    opus, small = summary.models
    assert (opus.requests, opus.input_tokens, opus.output_tokens, opus.cost, opus.mean_ms) == (2, 400, 60, 0.75, 2000)
    assert (small.provider, small.cost) == ("ollama", None)


async def test_every_call_that_passes_the_executor_is_noted(tmp_path: Path) -> None:
    async def fail(_: dict[str, Any]) -> None:
        raise KeyError("x")

    async def call_another(_: dict[str, Any]) -> Any:
        from ot.context import current

        return await current().call("demo.upper", text="a")

    with open_recorder(tmp_path) as recorder:
        async with open_executor(recorder=recorder) as opened:
            add_tool(opened, "sample.fail", fail)
            add_tool(opened, "sample.nest", call_another)
            for name in ("demo.upper", "sample.fail", "sample.nest", "demo.nothing"):
                await opened.executor.execute(name, {"text": "a"} if name == "demo.upper" else {})
        recorder.flush()

    noted = [(depth, tool, error) for _, _, depth, tool, _, _, error, *_ in rows(recorder, "calls")]
    assert noted == [
        (0, "demo.upper", ""),
        (0, "sample.fail", "KeyError"),
        (1, "demo.upper", ""),
        (0, "sample.nest", ""),
        (0, "(unknown)", "UnknownToolError"),
    ]


def test_the_start_of_a_server_loads_no_database() -> None:
    code = "import sys, onetool.front.server, ot.app; print([m for m in ('sqlite3', 'jinja2') if m in sys.modules])"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert found.stdout.strip() == "[]"
