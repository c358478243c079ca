"""Whole tasks are counted right, and only right answers count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp_types import Tool

from bench.tasks.parts import Outcome, do_all, tables_of
from bench.tasks.task import DirectCalls, Runs, Task
from bench.tasks.transcript import Transcript, definitions_text
from bench.tasks.twelve import TASKS
from bench.tasks.ways import WrongAnswerError, do_directly, names_of_calls
from bench.tasks.world import World


async def answer_directly(_: DirectCalls) -> str:
    return "42"


async def answer_through_run(_: Runs) -> str:
    return "42"


QUESTION = Task("question", "How many?", (), "42", answer_directly, answer_through_run)


def count_words(text: str) -> int:
    return len(text.split())


def recorded() -> Transcript:
    """Two requests that call tools, and the answer."""
    transcript = Transcript(count_words)
    transcript.ask("Which file is longest?")
    transcript.call([("list", {"path": "a b"})], ["one.txt two.txt"])
    transcript.call([("read", {"file": "one.txt"}), ("read", {"file": "two.txt"})], ["short", "long long long"])
    transcript.answer("It is two.txt")
    return transcript


def test_what_enters_the_context_is_counted_once() -> None:
    """The question 4, calls 6 and 10 as JSON, results 2 and 4, the answer 3."""
    assert recorded().entering(0) == 4 + 6 + 2 + 10 + 4 + 3
    assert recorded().entering(100) == 129


def test_every_request_is_billed_with_the_context_so_far() -> None:
    first, second, third = 4 + 6, 4 + 6 + 2 + 10, 4 + 6 + 2 + 10 + 4 + 3

    assert recorded().billed(0) == first + second + third
    assert recorded().billed(100) == first + second + third + 300
    assert (recorded().requests, recorded().written) == (3, 6 + 10 + 3)


def test_definitions_are_what_a_model_is_shown_of_a_server() -> None:
    tool = Tool(name="add", title="Sum", description="Add numbers", input_schema={"type": "object"}, output_schema={})

    assert definitions_text([tool], "Be kind.") == (
        '[{"name": "add", "description": "Add numbers", "input_schema": {"type": "object"}}]Be kind.'
    )


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (replace(QUESTION, expected="41"), "'42' instead of '41'"),
        (replace(QUESTION, left=lambda _: "nothing", expected_left="a file"), "left 'nothing' instead of 'a file'"),
    ],
)
@pytest.mark.anyio
async def test_a_wrong_answer_ends_the_measurement(task: Task, reason: str, tmp_path: Path) -> None:
    with pytest.raises(WrongAnswerError, match=reason):
        await do_directly(task, World(tmp_path, {}, {}))


def test_the_report_names_the_tasks_that_are_cheaper_directly() -> None:
    cheap, dear = recorded(), recorded()
    dear.call([], ["word " * 1000])
    outcomes = [
        Outcome(replace(QUESTION, name="small"), cheap, dear, needed=10, all_servers=20, run=30),
        Outcome(replace(QUESTION, name="alone"), cheap, cheap, needed=10, all_servers=90, run=30),
        Outcome(replace(QUESTION, name="large"), dear, cheap, needed=10, all_servers=20, run=30),
    ]

    entering, *_ = tables_of(outcomes)

    assert entering.notes == ("Cheaper the direct way: small; alone (if no other server is connected).",)


def test_what_code_has_to_know_is_found_in_it() -> None:
    code = "import re\nre.findall('a', 'b')\n[mail.read(number, body=True) for number in mail.list(box='in')]"

    assert sorted(names_of_calls(code, ["mail"])) == ["body: ", "box: ", "list", "read"]


@pytest.mark.long
def test_all_tasks_have_the_right_answer_both_ways() -> None:
    outcomes = anyio.run(do_all, lambda _: None)

    assert [each.task for each in outcomes] == [*TASKS]
    assert len(outcomes) == 12
