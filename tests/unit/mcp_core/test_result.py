"""The outcome of a tool, in the forms in which it leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core import Result
from tests.properties import unhurried
from tests.unit.mcp_core.values import anything, json_values

texts = st.none() | st.text()


@given(json_values, texts, texts)
@unhurried
def test_a_success_comes_back_from_its_json(value: Any, message: str | None, instruction: str | None) -> None:
    result = Result.ok(value, message=message, instruction=instruction)

    found = json.loads(result.to_json_str())

    assert Result(**found) == result


@given(st.text(), st.text(), texts, texts)
@unhurried
def test_a_failure_comes_back_from_its_json(
    error: str, error_type: str, message: str | None, instruction: str | None
) -> None:
    result: Result[None] = Result.failure(error, error_type, message=message, instruction=instruction)

    found = json.loads(result.to_json_str())

    assert Result(**found) == result


@given(anything)
@unhurried
def test_a_result_with_any_value_is_valid_in_every_form(value: Any) -> None:
    reply = Result.ok(value).to_mcp()

    [block] = reply["content"]
    assert json.loads(block["text"].encode()) == reply["structuredContent"]


@pytest.mark.parametrize(
    ("result", "is_error"), [(Result.ok(1), False), (Result.failure("no", "refused"), True)], ids=["ok", "failure"]
)
def test_the_protocol_hears_whether_it_failed(result: Result[Any], *, is_error: bool) -> None:
    reply = result.to_mcp()

    assert reply["isError"] is is_error
    assert reply["structuredContent"] == result.to_json()


def test_a_generator_is_used_up_only_once() -> None:
    reply = Result.ok(n for n in (1, 2)).to_mcp()

    assert reply["structuredContent"]["value"] == [1, 2]
    assert json.loads(reply["content"][0]["text"])["value"] == [1, 2]


def test_an_exception_is_told_without_its_traceback() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    result: Result[None] = Result.failure("it broke", "io", exception=SilentError())

    assert result.to_json() == {
        "success": False,
        "error": "it broke",
        "error_type": "io",
        "exception_type": "SilentError",
        "exception_message": "<SilentError>",
    }
