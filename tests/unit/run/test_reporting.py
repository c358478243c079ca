"""Answers: the text a model gets, and whether it can go on from it alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from ot.errors import (
    LegacyPrefixError,
    OneToolError,
    PreflightError,
    RunTimeoutError,
    ToolArgumentError,
    UnknownPackError,
    UnknownToolError,
)
from ot.registry.registry import ToolRegistry
from ot.run.answer import Answer
from ot.run.outcome import CodeError, Failure, Frame, Nothing, Outcome, Printed, Seen, Value
from ot.run.reporting import render_answer, suggest_narrower, word_task
from ot_kernel.values import Image
from tests.unit.run.registry_of import define, registry_of


@pytest.fixture
def registry() -> ToolRegistry:
    return registry_of(define("demo.upper", "text"), define("demo.foo"), define("brave.web_search", "query"))


def answer(outcome: Outcome, registry: ToolRegistry, limit: int = 20_000) -> Answer:
    return render_answer(outcome, inline_limit=limit, registry=registry)


def failure(registry: ToolRegistry, error: CodeError | OneToolError, printed: str = "") -> str:
    told = answer(Failure(error, Printed(printed)), registry)
    assert told.is_error
    return told.text


@pytest.mark.scenario("run/robust-result-capture/expression-result")
@pytest.mark.parametrize(
    ("value", "text"),
    [("as it is", "as it is"), (42, "42"), ([1, "a"], "[1, a]"), ({"a": None}, "{a: null}"), ("", "''")],
    ids=repr,
)
def test_a_value_is_the_answer(registry: ToolRegistry, value: Any, text: str) -> None:
    assert answer(Value(value), registry) == Answer(text)


@pytest.mark.scenario("run/robust-result-capture/none-return")
@pytest.mark.scenario("run/robust-result-capture/no-return-value")
def test_none_and_no_value_are_told_apart(registry: ToolRegistry) -> None:
    assert answer(Value(None), registry).text == "None"
    assert answer(Nothing(), registry) == Answer("Done: no value returned.")


def test_none_is_left_out_below_what_was_printed(registry: ToolRegistry) -> None:
    assert answer(Value(None, Printed("hello\n")), registry) == Answer("hello\n")


@pytest.mark.parametrize("printed", ["hello", "hello\n"])
def test_printed_text_comes_first_on_lines_of_its_own(registry: ToolRegistry, printed: str) -> None:
    assert answer(Value(42, Printed(printed)), registry).text == "hello\n42"
    assert answer(Nothing(Printed(printed)), registry).text == "hello\nDone: no value returned."


def test_an_image_is_attached_and_named(registry: ToolRegistry) -> None:
    image = Image(b"png")

    told = answer(Value({"chart": image}), registry)

    assert told.attachments == (image,)
    assert "image/png" in told.text


def test_a_long_list_is_cut_after_whole_items_and_says_so(registry: ToolRegistry) -> None:
    told = answer(Value([{"n": n} for n in range(1000)]), registry, limit=200)

    items, _, note = told.text.partition("\n[")
    shown = len(yaml.safe_load(items))
    assert note == f"{shown} of 1,000 items shown. Return less: slice, filter or aggregate in the code.]"
    assert not told.is_error


def test_a_long_string_is_cut_and_says_so(registry: ToolRegistry) -> None:
    told = answer(Value("x" * 5000), registry, limit=200)

    assert told.text.startswith("x" * 200 + "\n[The first 200 of 5,000 characters shown.")


def test_a_value_of_which_only_the_head_arrived_names_the_whole(registry: ToolRegistry) -> None:
    assert "3 of 1,000,000 items shown" in answer(Value([1, 2, 3], total=1_000_000), registry).text
    assert "first 3 of 1,000,000 characters" in answer(Value("abc", total=1_000_000), registry).text


@pytest.mark.parametrize(
    "outcome",
    [
        Value("v" * 9000, Printed("p" * 9000)),
        Value(["item"] * 9000, Printed("p\n" * 9000)),
        Nothing(Printed("p" * 9000)),
        Failure(CodeError("ValueError", "m" * 1000), Printed("p" * 9000)),
    ],
    ids=["string", "list", "nothing", "failure"],
)
def test_output_and_value_share_the_limit_and_neither_hides_the_other(registry: ToolRegistry, outcome: Outcome) -> None:
    text = answer(outcome, registry, limit=4000).text

    assert len(text) < 4000 + 300
    assert text.count("p") > 900
    assert max(text.count("v"), text.count("item"), text.count("no value"), text.count("m")) > 0


def test_long_output_keeps_its_beginning_and_its_end(registry: ToolRegistry) -> None:
    printed = "".join(f"line {n}\n" for n in range(1000))

    text = answer(Nothing(Printed(printed, dropped=77)), registry, limit=300).text

    assert text.startswith("line 0\n")
    assert "line 999\n" in text
    assert "of 8,890 printed characters left out. Print less." in text
    assert "77 more printed bytes were not kept" in text


def test_text_can_always_be_sent(registry: ToolRegistry) -> None:
    answer(Value(["\ud800"], Printed("\udfff")), registry).text.encode()
    failure(registry, CodeError("ValueError", "\ud800")).encode()


@pytest.mark.scenario("run/error-context/runtime-error-context")
def test_an_exception_is_told_with_type_message_and_the_lines_that_led_to_it(registry: ToolRegistry) -> None:
    frames = (Frame(9, "<module>", "main()"), Frame(4, "main", "    return 1 / 0"))

    text = failure(registry, CodeError("ZeroDivisionError", "division by zero", frames), printed="before\n")

    assert text == "before\nZeroDivisionError: division by zero\n  line 9: main()\n  line 4, in main: return 1 / 0"


@pytest.mark.scenario("run/error-context/syntax-error-location")
def test_a_syntax_error_is_told_with_its_line(registry: ToolRegistry) -> None:
    error = CodeError("SyntaxError", "'(' was never closed", (Frame(3, "<module>", "x = ("),))

    assert failure(registry, error) == "SyntaxError: '(' was never closed\n  line 3: x = ("


@pytest.mark.parametrize("line", ["onetool logs", "  $ onetool run '1+1'", "onetool --version"])
def test_a_command_of_a_shell_is_known_for_one(registry: ToolRegistry, line: str) -> None:
    text = failure(registry, CodeError("SyntaxError", "invalid syntax", (Frame(1, "<module>", line),)))

    assert text.endswith(
        "That is a command that a person types in a terminal; here is Python. ot.tools() lists what it can call."
    )


def test_another_mistake_is_not_taken_for_a_command_of_a_shell(registry: ToolRegistry) -> None:
    text = failure(registry, CodeError("SyntaxError", "invalid syntax", (Frame(1, "<module>", "onetool = 1 2"),)))

    assert "terminal" not in text


def test_an_exception_without_message_or_source_is_only_named(registry: ToolRegistry) -> None:
    assert failure(registry, CodeError("KeyboardInterrupt", "", (Frame(1, "<module>", ""),))) == (
        "KeyboardInterrupt\n  line 1"
    )


def test_notes_of_an_exception_are_kept(registry: ToolRegistry) -> None:
    assert failure(registry, CodeError("ValueError", "bad", notes=("in row 3",))) == "ValueError: bad\nin row 3"


def test_a_recursion_is_one_line(registry: ToolRegistry) -> None:
    frames = (Frame(3, "<module>", "f()"), *[Frame(2, "f", "return f()")] * 19)

    text = failure(registry, CodeError("RecursionError", "maximum recursion depth exceeded", frames))

    assert text.endswith("\n  line 3: f()\n  line 2, in f: return f()  (19 times)")


def test_of_many_calls_the_outermost_and_the_innermost_are_shown(registry: ToolRegistry) -> None:
    frames = tuple(Frame(n, f"f{n}", "x") for n in range(1, 21))

    lines = failure(registry, CodeError("ValueError", "bad", frames)).split("\n")

    assert lines[1] == "  line 1, in f1: x"
    assert "  ... 14 more" in lines
    assert lines[-1] == "  line 20, in f20: x"


def test_a_huge_message_is_cut(registry: ToolRegistry) -> None:
    assert len(failure(registry, CodeError("KeyError", "x" * 10_000_000))) < 5000


def test_of_an_error_too_long_for_its_answer_beginning_and_end_are_shown(registry: ToolRegistry) -> None:
    text = answer(Failure(CodeError("KeyError", "x" * 3000)), registry, 1000).text
    left_out = re.search(r"\[([\d,]+) of ([\d,]+) characters of the error left out\]", text)

    assert left_out is not None
    left, whole = (int(number.replace(",", "")) for number in left_out.groups())
    assert whole - left == len(text) - len(left_out[0]) - 2  # and the ends of two lines


@pytest.mark.parametrize(
    ("value", "narrower"),
    [
        (["demo.upper", "demo.foo"], True),
        ([{"name": "demo.upper"}, {"name": "other"}], True),
        (["other", "demo.upper"], False),
        ({"demo.upper": 1}, False),
        ([], False),
    ],
)
def test_a_listing_of_tools_can_be_narrowed(registry: ToolRegistry, value: object, *, narrower: bool) -> None:
    assert bool(suggest_narrower(value, registry)) is narrower


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("json", "Add `import json`"),
        ("upper", "A tool is called with its pack: demo.upper(*, text: str) -> str"),
        ("uper", "Did you mean demo.upper?"),
        ("web_serch", "Did you mean brave.web_search?"),
        ("dmo", "Did you mean demo?"),
        ("result", "Each run starts fresh"),
    ],
)
def test_an_undefined_name_is_told_with_what_may_have_been_meant(
    registry: ToolRegistry, name: str, way_out: str
) -> None:
    error = CodeError("NameError", f"name {name!r} is not defined", (Frame(1, "<module>", f"{name}()"),), (name,))

    assert way_out in failure(registry, error)


@pytest.mark.scenario("run/error-context/tool-not-found")
def test_a_name_like_no_other_is_told_with_the_packs(registry: ToolRegistry) -> None:
    error = CodeError("NameError", "name 'zzz' is not defined", names=("zzz",))

    assert "Packs: brave, demo" in failure(registry, error).replace("demo, brave", "brave, demo")


def test_a_module_that_is_not_there_leads_to_the_packs(registry: ToolRegistry) -> None:
    assert "ot.packs()" in failure(registry, CodeError("ModuleNotFoundError", "No module named 'requests'"))


def test_preflight_tells_every_problem_with_its_line_and_that_nothing_ran(registry: ToolRegistry) -> None:
    error = PreflightError(
        [
            (1, UnknownToolError("demo.uper", pack="demo", available=["foo", "upper"])),
            (2, ToolArgumentError("demo.upper", ["text is missing"], "demo.upper(*, text: str) -> str")),
            (3, UnknownPackError("json", ["brave", "demo"])),
            (4, UnknownPackError("time", ["demo", "time_"])),
        ]
    )

    lines = failure(registry, error).split("\n")

    assert lines[0] == "Nothing was executed."
    assert lines[1].startswith("line 1: ")
    assert "upper, foo" in lines[1]
    assert "demo.upper(*, text: str) -> str" in lines[2]
    assert lines[3] == "line 3: json is not defined. Add `import json`."
    assert lines[4] == "line 4: time is not defined. Add `import time`, or call the pack time_."
    assert len(lines) == 5


def test_preflight_reminds_of_variables_that_an_earlier_run_may_have_had(registry: ToolRegistry) -> None:
    unknown = failure(registry, PreflightError([(1, UnknownPackError("df", ["brave", "demo"]))]))
    mistyped = failure(registry, PreflightError([(1, UnknownPackError("demmo", ["brave", "demo"]))]))

    assert "Each run starts fresh" in unknown
    assert "Each run starts fresh" not in mistyped


def test_preflight_with_many_problems_is_still_short(registry: ToolRegistry) -> None:
    problems = [(n, UnknownPackError(f"x{n}", ["demo"])) for n in range(1, 500)]

    text = failure(registry, PreflightError(problems))

    assert "and 489 more problems" in text
    assert text.count("\n") < 15


@pytest.mark.parametrize("limit", [1_000, 2_000, 20_000])
@pytest.mark.parametrize("printed", ["", "p" * 50_000, "p" * 900])
def test_an_error_begins_and_ends_as_it_would_within_any_limit(
    registry: ToolRegistry, limit: int, printed: str
) -> None:
    frames = tuple(Frame(n, f"f{n}" * 500, f"s{n}" * 500) for n in range(100))
    error = CodeError("E" * 5_000, "m" * 5_000, frames, notes=("n" * 5_000,) * 50 + ("the way out",))

    text = answer(Failure(error, Printed(printed, dropped=7)), registry, limit=limit).text

    assert len(text) <= limit
    assert "EEE" in text
    assert "characters of the error left out" in text
    assert text.endswith("the way out")


@pytest.mark.parametrize(
    ("error", "clue"),
    [(RunTimeoutError(120, 3), "line 3"), (LegacyPrefixError("!onetool"), "Invalid syntax")],
    ids=["timeout", "prefix"],
)
def test_errors_of_the_engine_have_their_own_sentences(registry: ToolRegistry, error: OneToolError, clue: str) -> None:
    assert clue in failure(registry, error)


def test_a_task_is_told_in_a_sentence_what_it_does_and_for_whom_it_waits() -> None:
    seen = Seen(begun=True, printed=Printed(""), calls=(("demo.sleep", 3.2),), line=2)

    assert word_task(seen, 4.4, 120, "", "") == "Running for 4 s (limit 120 s). It is at line 2, in demo.sleep (3 s)."
    assert word_task(seen, 4.4, 120, "step 3", "").endswith("(3 s). step 3")
    asked = word_task(seen, 4.4, 120, "step 3", "Send it?", answered="onetool answer r1")
    assert asked.endswith("It waits for a person, who must be told to answer onetool answer r1: Send it?")
