"""Text that is not quite Python is read as it was meant, with its own line numbers and its strings untouched."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot_kernel.indentation import parse
from tests.properties import unhurried


def run(source: str) -> dict[str, object]:
    scope: dict[str, object] = {}
    exec(compile(parse(source), "<run>", "exec"), scope)
    return scope


def lines_of(tree: ast.Module) -> list[tuple[int, int | None]]:
    return [(statement.lineno, statement.end_lineno) for statement in tree.body]


@pytest.mark.scenario("run/indentation-safe-code-wrapping/already-indented-code")
@pytest.mark.parametrize("margin", ["    ", "  ", " ", "\t", "\t\t", "            "], ids=repr)
def test_code_indented_as_a_whole_is_read_without_its_margin(margin: str) -> None:
    source = textwrap.indent("x = 1\nif x:\n    y = [\nx,\n  2]\n", margin)

    assert run(source)["y"] == [1, 2]
    assert lines_of(parse(source)) == [(1, 1), (2, 5)]


def test_what_stands_between_triple_quotes_is_never_touched() -> None:
    source = '    text = """first\n        second\nthird\n\tfourth"""\n    more = f"""\n      {text!r}\n"""\n'

    scope = run(source)

    assert scope["text"] == "first\n        second\nthird\n\tfourth"
    assert scope["more"] == f"\n      {scope['text']!r}\n"


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n    y = 2\n    z = x + y",
        "x = 1\n\n    y = 2\n    if y:\n        z = x + y",
        "\n\nx = 1\n    y = 2\n    z = x + y\n",
        "# a comment\nx = 1\n    # another\n# and one at the left\n    z = x + 2",
        "def f():\n        return 3\n    z = f()",
        "if True:\n        z = 3\n    else:\n        z = 4\n",
        "x = 1\n\ty = 2\n\tz = x + y",
        'z = """a\nb"""\n    z = 3',
    ],
    ids=repr,
)
def test_a_first_line_that_lost_its_margin_belongs_to_the_rest(source: str) -> None:
    assert run(source)["z"] == 3


@pytest.mark.parametrize(
    "source",
    [
        " x = 1\ny = x + 1",
        "\tx = 1\nif x:\n    y = 2",
        "\n# a comment\n x = 1\ny = 2",
        " for x in [1]:\n    z = x\ny = 2",
    ],
)
def test_a_stray_blank_before_the_first_line_alone_is_nothing(source: str) -> None:
    assert (run(source)["x"], run(source)["y"]) == (1, 2)


def test_line_numbers_stay_those_of_the_author_when_the_first_line_lost_its_margin() -> None:
    assert lines_of(parse("\nx = 1\n    y = 2\n\n    z = 3")) == [(2, 2), (3, 3), (5, 5)]


@pytest.mark.scenario("run/indentation-safe-code-wrapping/empty-lines")
@pytest.mark.parametrize("empty", ["", "   ", "\t", "            ", "\x0c", "\r"], ids=repr)
def test_empty_lines_between_statements_do_no_harm(empty: str) -> None:
    lines = ["", "    if True:", "", "        x = 1", "", "", "        y = 2", "", "    z = x + y", ""]
    source = "\n".join(line or empty for line in lines)

    assert run(source)["z"] == 3


@pytest.mark.scenario("run/indentation-safe-code-wrapping/mixed-indentation")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if 1:\n    x = 1\n\ty = 2\nz = (x, y)", (1, 2)),  # a tab is four columns
        ("if 1:\n        x = 1\n\ty = 2\nz = (x, y)", (1, 2)),  # a tab is eight columns
        ("for i in [1]:\n\tif i:\n\t\tx = 1\n        else:\n\t\tx = 2\nz = x", 1),  # only with eight is there an if
        ("if 1:\n    if 1:\n\tx = 1\nz = x", 1),  # only with eight is anything inside
        ("    x = 1\n\tz = x", 1),  # indented as a whole as well
        ("x = 1\n    y = 2\n\tz = x + y", 3),  # and the first line lost its margin
    ],
)
def test_mixed_tabs_and_spaces_are_read_where_only_one_reading_makes_sense(source: str, expected: object) -> None:
    with pytest.raises(SyntaxError):
        compile(source, "<plain>", "exec")

    assert run(source)["z"] == expected


def test_tabs_that_could_mean_two_things_are_refused_at_their_line() -> None:
    ambiguous = "x = []\nfor i in [1, 2]:\n    if i == 1:\n        x.append(i)\n\tx.append(0)\n"

    with pytest.raises(TabError) as caught:
        parse(ambiguous)

    assert caught.value.lineno == 5


def test_mixed_tabs_leave_strings_alone() -> None:
    source = 'if 1:\n    x = """\n\ta\n        b\n"""\n\ty = b"""\\\n\tc"""\n'

    scope = run(source)

    assert (scope["x"], scope["y"]) == ("\n\ta\n        b\n", b"\tc")


@pytest.mark.parametrize("newline", ["\r\n", "\r"], ids=repr)
@pytest.mark.parametrize(
    "source", ["x = 1\ny = 2", "    x = 1\n    y = 2", "x = 1\n    y = 2", "if 1:\n    x = 1\n\ty = 2"], ids=repr
)
def test_any_kind_of_newline_ends_a_line(source: str, newline: str) -> None:
    tree = parse(source.replace("\n", newline))

    assert ast.dump(tree, include_attributes=True) == ast.dump(parse(source), include_attributes=True)


def test_a_form_feed_counts_as_no_line_and_no_column() -> None:
    assert lines_of(parse("x = 1\n\x0c\ny = 2\n\x0cz = 3")) == [(1, 1), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    "source", ["", "\n", "   ", "# nothing", "    # nothing", "\t\n  # a\n# b\n", "\x0c"], ids=repr
)
def test_text_without_code_is_an_empty_program(source: str) -> None:
    assert parse(source).body == []


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\ny = = 2", 2, "invalid syntax"),
        ("    x = 1\n    y = = 2", 2, "invalid syntax"),
        ("x = 1\n    y = = 2", 2, "invalid syntax"),
        ("    x = 1\n\n    y = 'open\n", 3, "unterminated string literal (detected at line 3)"),
        ("    x = '''open\n\n", 1, "unterminated triple-quoted string literal (detected at line 2)"),
        ("    x = 1\n    if x:\n    y = 2", 3, "expected an indented block after 'if' statement on line 2"),
        ("    x = (\n    ]", 2, "closing parenthesis ']' does not match opening parenthesis '(' on line 1"),
        ("    x = 1\n  y = 2", 2, "unindent does not match any outer indentation level"),
        ("    x = 1\ny = 2", 1, "unexpected indent"),
        ("x = 1\n    y = 2\nz = 3", 2, "unexpected indent"),
        ("if x:\ny = 2", 2, "expected an indented block after 'if' statement on line 1"),
        ("if 1:\n    x = 1\n\ty = = 2", 3, "inconsistent use of tabs and spaces in indentation"),
        (
            "x = 1\ny = '\ud800'",
            2,
            "the character '\\ud800' cannot be used in code; inside a string, write it as an escape",
        ),
    ],
    ids=repr,
)
def test_a_mistake_is_named_with_the_line_that_the_author_wrote(source: str, line: int, message: str) -> None:
    with pytest.raises(SyntaxError) as caught:
        parse(source)

    assert (caught.value.lineno, caught.value.msg, caught.value.filename) == (line, message, "<run>")


def test_an_unfinished_block_is_not_taken_for_a_lost_margin() -> None:
    with pytest.raises(IndentationError):
        parse("if x:\n    y = 1\n      z = 2")


@unhurried
@given(st.text("xy=:1 \t\n\r\x0c#'\"()[]\\if", max_size=60))
def test_any_text_is_read_or_is_a_syntax_error(source: str) -> None:
    try:
        parse(source)
    except SyntaxError:
        pass
