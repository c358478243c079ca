"""Every way in which a program can end has its message, also for objects that resist being described."""

from __future__ import annotations

import pytest

from ot_kernel.program_run import MAX_FRAMES, MAX_TEXT
from tests.unit.ot_kernel.program import failure_of, reply_to, value_of


@pytest.mark.scenario("run/error-context/runtime-error-context")
@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("raise ValueError('no')", "ValueError", "no"),
        ("class Own(Exception): ...\nraise Own('mine')", "Own", "mine"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("raise StopIteration", "StopIteration", ""),
        ("raise GeneratorExit", "GeneratorExit", ""),
        ("class Base(BaseException): ...\nraise Base('bare')", "Base", "bare"),
        ("raise SystemExit(3)", "SystemExit", "the code ended itself with sys.exit(3)"),
        ("import sys; sys.exit('bye')", "SystemExit", "the code ended itself with sys.exit('bye')"),
        ("raise SyntaxError", "SyntaxError", "None"),
        ("raise SyntaxError('by hand')", "SyntaxError", "by hand"),
        ("raise 5", "TypeError", "exceptions must derive from BaseException"),
        ("def f(): f()\nf()", "RecursionError", "maximum recursion depth exceeded"),
        ("assert 1 == 2, 'unequal'", "AssertionError", "unequal"),
        ("raise ValueError('\\ud800')", "ValueError", "\ud800"),
        (
            "class E(Exception):\n    def __str__(self): raise KeyError\nraise E",
            "E",
            "(its text could not be read: KeyError)",
        ),
        (
            "class E(Exception):\n    def __str__(self): return 5\nraise E",
            "E",
            "(its text could not be read: TypeError)",
        ),
        ("class E(Exception):\n    __notes__ = 5\nraise E('x')", "E", "(its text could not be read: TypeError)"),
        (
            "class N:\n    def __str__(self): 1/0\ne = ValueError('x')\ne.__notes__ = [N()]\nraise e",
            "ValueError",
            "(its text could not be read: ZeroDivisionError)",
        ),
    ],
)
def test_an_error_is_told_by_its_type_and_message(source: str, kind: str, message: str) -> None:
    assert failure_of(source)[:2] == (kind, message)


@pytest.mark.parametrize(
    "source", ["import sys; sys.exit()", "raise SystemExit", "raise SystemExit(0)", "exit = quit = 1"]
)
def test_leaving_in_peace_is_no_failure(source: str) -> None:
    assert reply_to(source) == {"op": "nothing"}


def test_a_group_shows_its_members_with_their_lines() -> None:
    source = """\
def f():
    raise ValueError("inner")
try:
    f()
except ValueError as e:
    deep = ExceptionGroup("deep", [KeyError("k")])
    raise ExceptionGroup("two", [e, deep])
"""

    assert reply_to(source)["notes"] == [
        "  1. ValueError: inner",
        "     line 4: f()",
        '     line 2, in f: raise ValueError("inner")',
        "  2. ExceptionGroup: deep (1 sub-exception)",
        "     1. KeyError: 'k'",
    ]


def test_a_group_is_shown_within_bounds() -> None:
    wide = reply_to("raise ExceptionGroup('', [ValueError(str(n)) for n in range(10_000)])")["notes"]
    deep = reply_to("e = ValueError()\nfor _ in range(200): e = ExceptionGroup('', [e])\nraise e")["notes"]

    assert (len(wide), wide[-1]) == (21, "  and 9980 more")
    assert len(deep) < 10


def test_notes_and_the_cause_come_along() -> None:
    source = "try:\n    1/0\nexcept ZeroDivisionError as e:\n    new = ValueError('outer')\n    new.add_note('a hint')\n    raise new from e"

    assert reply_to(source)["notes"] == ["a hint", "caused by ZeroDivisionError: division by zero"]


def test_the_name_that_nobody_defined_comes_along() -> None:
    assert reply_to("x = demo2.upper\n")["names"] == ["demo2"]


def test_long_messages_and_long_ways_are_cut() -> None:
    message = reply_to("raise ValueError('x' * 100_000)")["message"]
    frames = reply_to("def f(n):\n    return f(n - 1) if n else 1/0\nf(200)")["frames"]

    assert len(message) == MAX_TEXT + 1
    assert (len(frames), frames[-1][:2]) == (MAX_FRAMES, (2, "f"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("object", "<class 'object'>"),
        ("[1, len]", "[1, <built-in function len>]"),
        ("x = []\nx.append(x)\nx", "[[...]]"),
        ("range(20_000)", "range(0, 20000)"),
        ("import decimal\ndecimal.getcontext().prec * 1j, print", "(28j, <built-in function print>)"),
    ],
)
def test_a_result_outside_the_vocabulary_is_told_by_its_repr(source: str, text: str) -> None:
    assert value_of(source) == text


def test_a_result_that_cannot_even_be_represented_is_an_error_of_the_code() -> None:
    source = "class A:\n    def __repr__(self):\n        return 1/0\n\nA()"

    assert failure_of(source) == ("ZeroDivisionError", "division by zero", [3])


def test_a_generator_as_result_gives_its_items_and_its_errors() -> None:
    assert value_of("(n * 2 for n in range(3))") == [0, 2, 4]
    assert failure_of("(1/n for n in (1, 0))") == ("ZeroDivisionError", "division by zero", [1])
