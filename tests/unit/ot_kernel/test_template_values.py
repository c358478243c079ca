"""A snippet's values are data: in a string they are text, alone they are a literal, and code they never become."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ot_kernel.compiler import as_literal
from tests.properties import unhurried
from tests.unit.ot_kernel.program import failure_of, value_of

ONE, TWO = "__ot_value_5eed_0__", "__ot_value_5eed_1__"

INJECTION = 'x" + str(6*7) + "'


def filled(source: str, one: str = "", two: str = "") -> Any:
    return value_of(source, values={ONE: one, TWO: two})


@pytest.mark.scenario("run/snippet-expansion/snippet-invocation")
@pytest.mark.parametrize(
    "source", [f'"{ONE}"', f"'{ONE}'", ONE, f'"""{ONE}"""', f"f'{ONE}'", f"f'{{{ONE}}}'", f"r'{ONE}'"]
)
@pytest.mark.parametrize(
    "value",
    [INJECTION, "'''", '"""', "\\", "{6*7}", "{{", "\n\n", "\ud800", "", "__import__('os')", "1; 2", "%s", "\0"],
)
def test_a_value_stays_text_whatever_it_holds(source: str, value: str) -> None:
    assert filled(source, value) == value


@unhurried
@given(st.text(st.characters(exclude_categories=())))
@example(INJECTION)
@example(TWO)
def test_any_text_comes_back_as_itself_or_as_the_literal_it_is(value: str) -> None:
    assert filled(f"'{ONE}'", value) == value
    assert repr(filled(ONE, value)) == repr(as_literal(value))


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("5", 5),
        ("-5", -5),
        ("1.5", 1.5),
        ("2e3", 2000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        (" 7 ", 7),
        ("12345678901234567890123", 12345678901234567890123),
    ],
)
def test_a_bare_number_true_false_or_null_is_one(text: str, literal: object) -> None:
    value = filled(ONE, text)

    assert (value, type(value)) == (literal, type(literal))
    assert filled(f"'{ONE}'", text) == text


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "True",
        "None",
        "007",
        "1_000",
        "0x10",
        "[1]",
        '{"a": 1}',
        '"quoted"',
        "5,",
        "9" * 5000,
    ],
)
def test_any_other_bare_text_is_a_string(text: str) -> None:
    assert filled(ONE, text) == text


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (f"f'<{ONE}|{{1 + 1}}|{TWO}>'", "<a|2|b>"),
        (f"f'{{{ONE} + {TWO}}}'", "ab"),
        (f"f'{{5:{TWO}>3}}'", "bb5"),
        (f"f'{{{ONE}!r}}'", "'a'"),
        (f"'{ONE}{TWO}{ONE}'", "aba"),
        (f"'x' '{ONE}'", "xa"),
        (f"[{ONE}, {{{TWO}: '{ONE}'}}]", ["a", {"b": "a"}]),
        (f"dict(k={ONE})", {"k": "a"}),
        (f"{ONE}.upper()", "A"),
        (f"match 'a':\n    case '{ONE}': r = 'matched'\nr", "matched"),
        (f"return {ONE}", "a"),
        (f"await {ONE}", "a"),
        (f"def f(x={ONE}): return x\nf()", "a"),
        (f"    x = '''{ONE}\n    '''\n    x", "a\n    "),
    ],
)
def test_values_fill_every_place_where_data_can_stand(source: str, value: object) -> None:
    assert filled(source, "a", "b") == value


def test_bytes_take_a_value_as_utf8() -> None:
    assert filled(f"b'<{ONE}>'", "é") == b"<\xc3\xa9>"
    assert filled(f"b'{ONE}'", "\ud800") == b"\xed\xa0\x80"


@pytest.mark.parametrize(
    "source",
    [
        f"x = 1\n{ONE} = 2",
        f"x = 1\ndemo.{ONE}",
        f"x = 1\ndemo.{ONE}()",
        f"x = 1\nimport {ONE}",
        f"x = 1\nimport os as {ONE}",
        f"x = 1\nfrom {ONE} import x",
        f"x = 1\ndef {ONE}(): ...",
        f"x = 1\nclass {ONE}: ...",
        f"x = 1\nlambda {ONE}: 0",
        f"x = 1\nprint({ONE}=1)",
        f"x = 1\nfor {ONE} in []: ...",
        f"x = 1\ndel {ONE}",
        f"x = 1\nglobal {ONE}",
        f"x = 1\n({ONE} := 5)",
        f"x = 1\nprefix_{ONE}",
        f"try:\n    pass\nexcept ValueError as {ONE}:\n    pass",
        f"match 1:\n    case {ONE}: ...",
        f"match 1:\n    case [*{ONE}]: ...",
        f"match 1:\n    case {{**{ONE}}}: ...",
        f"match 1:\n    case A({ONE}=1): ...",
    ],
)
def test_a_value_inside_a_name_is_refused_with_its_line(source: str) -> None:
    kind, message, _ = failure_of(source, values={ONE: "os"})

    assert kind == "TemplateValueError"
    assert message.startswith(f"line {3 if source.startswith('try') else 2}: ")


def test_not_a_number_is_not_made_from_text() -> None:
    assert not isinstance(as_literal("NaN"), float)
    assert as_literal("1e999") == math.inf
