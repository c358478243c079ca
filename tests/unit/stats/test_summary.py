"""Figures: what each tool, client, moment and saving comes to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ot.stats.recorder import Recorder
from ot.stats.savings import MOST_RESULT
from ot.stats.summary import DAY, HOUR, WEEK
from tests.unit.stats.noted import note_call, note_run, open_recorder, read_summary

PACK = "demo.upper demo.echo other.tool"


def test_an_empty_database_has_empty_figures(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        summary = read_summary(recorder)

    assert (summary.total_calls, summary.success_rate, summary.since, summary.tools) == (0, None, None, ())
    assert (summary.savings.saved, summary.time.saved_ms) == (0, 0)


def test_each_tool_has_its_figures(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        for milliseconds in range(1, 101):
            note_call(recorder, seconds=milliseconds / 1000, error="ToolError" if milliseconds > 90 else "")
        note_call(recorder, "demo.echo")
        upper, echo = read_summary(recorder).tools

    assert (upper.tool, upper.calls, upper.errors) == ("demo.upper", 100, 10)
    assert (upper.mean_ms, upper.p95_ms, upper.slowest_ms) == (50.5, 95.0, 100.0)
    assert (echo.calls, echo.p95_ms) == (1, 1.0)


def test_a_period_ends_now_and_begins_so_long_ago(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        for days in (0, 3, 20, 100):
            note_call(recorder, ago=days * 86400)
        counts = {
            period: read_summary(recorder, period=period).total_calls for period in ("day", "week", "month", "all")
        }

    assert counts == {"day": 1, "week": 2, "month": 3, "all": 4}


@pytest.mark.parametrize(
    ("period", "days", "bucket", "most"),
    [("day", 0, HOUR, 26), ("week", 5, DAY, 9), ("month", 20, DAY, 32), ("all", 1, HOUR, 27), ("all", 300, WEEK, 60)],
)
def test_calls_over_time_are_counted_in_stretches_that_one_can_see(
    tmp_path: Path, period: str, days: int, bucket: int, most: int
) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, ago=days * 86400)
        note_call(recorder, error="ToolError")
        summary = read_summary(recorder, period=period)

    starts = [moment.start for moment in summary.moments]
    assert summary.bucket_seconds == bucket
    assert len(starts) <= most
    assert starts == sorted(set(starts))
    assert starts[-1] <= time.time() < starts[-1] + 8 * 86400
    assert sum(moment.calls for moment in summary.moments) == 2
    assert sum(moment.errors for moment in summary.moments) == 1


def test_clients_are_told_apart(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, run=note_run(recorder, client="cursor"))
        note_run(recorder, client="cursor", error="ValueError")
        note_run(recorder, client="")
        cursor, command_line = read_summary(recorder).clients

    assert (cursor.client, cursor.runs, cursor.failed, cursor.calls) == ("cursor", 2, 1, 1)
    assert (command_line.client, command_line.runs) == ("", 1)


def test_results_that_only_the_code_saw_are_saved_and_the_answer_is_not(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        run = note_run(recorder, command="len(demo.upper(text='a'))", answer="4000")
        note_call(recorder, run=run, value="some words " * 400)
        savings = read_summary(recorder, tools=PACK, own="x" * 460).savings

    assert savings.direct_results == pytest.approx(4400 / 4.6, rel=0.05)
    assert savings.direct_definitions > 100
    assert savings.sent_definition == 100
    assert 0 < savings.sent_commands + savings.sent_answers < 30
    assert savings.saved == savings.direct - savings.sent > 900


def test_definitions_count_once_for_each_session_that_used_the_pack(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as first, open_recorder(tmp_path) as second:
        for recorder in (first, first, second):
            note_call(recorder, run=note_run(recorder))
        first.flush()
        savings = read_summary(second, tools=PACK, own="x" * 460).savings
        once = read_summary(second, tools="demo.upper demo.echo", own="x" * 460).savings

    assert savings.sent_definition == 200
    assert savings.direct_definitions == once.direct_definitions > 0


def test_a_run_that_looks_for_tools_or_calls_none_costs_more(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, "ot.tools", run=note_run(recorder, answer="many tools " * 200), value=["x"] * 1000)
        note_run(recorder, command="1 + 1", answer="2")
        summary = read_summary(recorder, tools=PACK)

    assert (summary.savings.direct, summary.dearer_runs) == (0, 2)
    assert summary.savings.saved < -400


def test_a_command_line_has_no_context_to_save(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, run=note_run(recorder, client=""), value="some words " * 400)
        summary = read_summary(recorder, tools=PACK, own="x" * 460)

    assert summary.total_calls == 1
    assert (summary.savings.direct, summary.savings.sent, summary.dearer_runs) == (0, 0, 0)


def test_calls_between_tools_would_have_happened_anyway(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        run = note_run(recorder)
        note_call(recorder, run=run, depth=1, value="some words " * 400)
        savings = read_summary(recorder, tools=PACK).savings

    assert savings.direct == 0


def test_one_result_counts_no_more_than_a_client_would_take(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, run=note_run(recorder), value="some words " * 400_000)
        savings = read_summary(recorder, tools=PACK).savings

    assert savings.direct_results == MOST_RESULT


def note_turns(recorder: Recorder, *calls: tuple[str, float, float], pauses: int = 5) -> None:
    """A run with calls that began and ended so many seconds after it did, behind enough runs to know the pauses."""
    for place in range(pauses + 1):
        note_run(recorder, ago=1000 - 3 * place, seconds=1.0)  # 2 s between them
    last = max(end for _, _, end in calls)
    run = note_run(recorder, ago=100, seconds=last + 0.5)
    for tool, start, end in calls:
        note_call(recorder, tool, run=run, seconds=end - start, ago=100 + last + 0.25 - end)


@pytest.mark.parametrize(
    ("calls", "avoided"),
    [
        pytest.param([("demo.a", 0, 1)], 0, id="one call"),
        pytest.param([("demo.a", 0, 1), ("demo.b", 1, 2)], 1, id="one after the other"),
        pytest.param([("demo.a", 0, 1), ("demo.b", 1, 2), ("demo.c", 2, 3)], 2, id="three in a row"),
        pytest.param([("demo.a", 0, 1), ("demo.a", 1, 2), ("demo.a", 2, 3)], 0, id="one tool in a loop"),
        pytest.param([("demo.a", 0, 2), ("demo.b", 1, 3)], 0, id="at the same time"),
        pytest.param([("demo.a", 0, 1), ("ot.tools", 1, 2)], 0, id="a tool of ours"),
    ],
)
def test_turns_that_a_run_avoids_are_counted_with_care(
    tmp_path: Path, calls: list[tuple[str, float, float]], avoided: int
) -> None:
    with open_recorder(tmp_path) as recorder:
        note_turns(recorder, *calls)
        saved = read_summary(recorder).time

    assert saved.turns_avoided == avoided
    assert saved.turn_ms == pytest.approx(2000, abs=5)
    assert saved.own_ms == pytest.approx(1500 if calls[-1][0] == "ot.tools" else 500, abs=5)
    assert saved.saved_ms == avoided * saved.turn_ms - saved.own_ms


def test_as_long_as_few_pauses_are_known_no_time_is_claimed(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_turns(recorder, ("demo.a", 0, 1), ("demo.b", 1, 2), pauses=2)
        saved = read_summary(recorder).time

    assert (saved.turns_avoided, saved.known, saved.saved_ms) == (1, False, 0)


def test_a_tool_is_looked_at_with_the_runs_that_called_it(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder, "demo.upper", run=note_run(recorder))
        note_call(recorder, "demo.echo", run=note_run(recorder, client="other"))
        summary = read_summary(recorder, tool="demo.upper")

    assert [tool.tool for tool in summary.tools] == ["demo.upper"]
    assert (summary.runs, [client.client for client in summary.clients]) == (1, ["test"])


def test_a_name_with_odd_characters_matches_only_itself(tmp_path: Path) -> None:
    with open_recorder(tmp_path) as recorder:
        note_call(recorder)
        counts = [
            read_summary(recorder, tool=name).total_calls for name in ("demo.%", "d_mo.upper", "' OR 1 --", "demo")
        ]

    assert counts == [0, 0, 0, 1]
