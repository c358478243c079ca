"""Rows that are kept by column: what code gets is what went in, and only who uses them unpacks them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from ot.kernel.messages import decode_argument
from ot.tasks.large_values import is_large
from ot.text.redaction import Redactor
from ot.values import Rows, expanded, pack_column
from ot_kernel.values import MANY, by_column, decode_fields, dumps, loads

COLUMNS: dict[str, list[object]] = {
    "whole": [1, -(2**63), 2**63 - 1],
    "huge": [1, 2**63, -(2**200)],
    "broken": [0.5, math.inf, -0.0],
    "texts": ["a", "", "ü🫖"],
    "lines": ["a\nb", "c", ""],
    "gaps": ["a", None, "b"],
    "truths": [True, False, True],
    "mixed": [1, "1", 1.0],
    "exact": [Decimal("1.10"), None, b"\0\n"],
}


def make_rows(columns: dict[str, list[object]]) -> Rows:
    return Rows(list(columns), [pack_column(column) for column in columns.values()], 3)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_comes_back_as_it_was(name: str) -> None:
    rows = make_rows({name: COLUMNS[name]}).to_list()

    assert [(type(row[name]), repr(row[name])) for row in rows] == [(type(v), repr(v)) for v in COLUMNS[name]]


def test_a_kernel_gets_a_list_of_dicts() -> None:
    decode = "import sys; from ot_kernel.values import accept_rows, loads; accept_rows(); print(ascii(loads(sys.stdin.read())))"
    packed = dumps({"rows": make_rows(COLUMNS), "more": False})

    shown = subprocess.run([sys.executable, "-c", decode], input=packed, capture_output=True, text=True, check=True)

    expected = {
        "rows": [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
        "more": False,
    }
    assert shown.stdout.strip() == ascii(expected)


def test_a_server_does_not_unpack_what_a_kernel_sends() -> None:
    with pytest.raises(ValueError, match="not a tagged value"):
        loads(dumps(make_rows(COLUMNS)))


def test_whoever_is_not_a_run_gets_plain_rows() -> None:
    kept: Any = {"rows": make_rows({"a": [1, 2, 3]}), "more": False}

    assert expanded(kept) == {
        "rows": [{"a": 1}, {"a": 2}, {"a": 3}],
        "more": False,
    }


def test_they_are_looked_at_on_a_thread() -> None:
    assert is_large({"rows": make_rows(COLUMNS)})


def test_secrets_in_them_are_masked() -> None:
    rows = make_rows({"a": ["x", "the hidden-word here", "y"], "b": ["hidden-word", None, "z"], "n": [1, 2, 3]})

    masked = Redactor(["hidden-word"]).value({"rows": rows})

    assert masked["rows"].to_list() == [
        {"a": "x", "b": "***", "n": 1},
        {"a": "the *** here", "b": None, "n": 2},
        {"a": "y", "b": "z", "n": 3},
    ]


def test_columns_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        Rows(["a", "b"], [("s", "x\ny"), ("s", "x")], 2).to_list()


def test_long_lists_of_similar_rows_are_packed_and_come_back_as_they_were() -> None:
    dicts = [{name: column[number % 3] for name, column in COLUMNS.items()} for number in range(MANY)]
    lists = [list(row.values()) for row in dicts]

    for rows in (dicts, lists):
        packed = by_column(rows)
        assert isinstance(packed, Rows)
        arrived = decode_argument(json.loads(dumps(packed)))
        assert isinstance(arrived, Rows)
        assert ascii(arrived.to_list()) == ascii(rows)
        for other in (rows[:9], [*rows, type(rows[0])()], [*rows, 1], tuple(rows)):
            assert by_column(other) is other
    for other in ([{"$": 1}] * MANY, [*dicts, {**dicts[0], "other": 1}], [*dicts, dict.fromkeys(range(len(COLUMNS)))]):
        assert by_column(other) is other


def test_arguments_are_built_and_those_that_are_rows_are_left_by_column() -> None:
    rows = [{"number": number, "text": "a"} for number in range(MANY)]
    arguments = {"rows": by_column(rows), "days": [date(2026, 1, 2)], "plain": 1}

    built = decode_fields(json.loads(dumps(arguments)))

    assert isinstance(built, dict)
    assert isinstance(built["rows"], Rows)
    assert {**built, "rows": built["rows"].to_list()} == {**arguments, "rows": rows}
    assert decode_fields(json.loads(dumps({1: date(2026, 1, 2)}))) == {1: date(2026, 1, 2)}


def test_names_in_another_order_make_no_other_rows() -> None:
    rows = [{"a": number, "b": number} for number in range(MANY)] + [{"b": 1, "a": 2}]

    assert by_column(rows).to_list() == rows


@pytest.mark.parametrize(
    "content",
    [
        [["a"], [["s", "\n" * 2_000_000]], 2_000_001],
        [["a"], [["s", "\n" * 2_000_000]], 3],
        [["a"], [["q", "A" * 4_000_000]], 3],
        [[], [["s", ""]], 1],
        [["a", "a"], [["s", "x"], ["s", "x"]], 1],
        [["a"], [["s", "x"]], True],
        [["a"], [["x", "x"]], 1],
        [["a"], [["v", [{"$": "rows", "v": [["a"], [["s", "x"]], 1]}]]], 1],
        [None, [["s", "x"], ["s", "x\ny"]], 1],
        [None, [], 3],
        [["a"], [["q", "AAAA"]], 0],
        [["a"], [["s", ["x"]]], 1],
        None,
    ],
)  # fmt: skip
def test_a_kernel_that_lies_about_its_rows_is_refused(content: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
        decode_argument({"$": "rows", "v": content})
