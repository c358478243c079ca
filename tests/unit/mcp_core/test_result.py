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
    result = Result.ok(value)

    reply = result.to_mcp()

    [block] = reply["content"]
    assert json.loads(json.dumps(reply)) == reply
    found = reply["structuredContent"]
    told = found if isinstance(result.to_json()["value"], dict) else found["result"]
    assert block["text"] == told or json.loads(block["text"].encode()) == told


@pytest.mark.parametrize(
    ("result", "is_error"), [(Result.ok(1), False), (Result.failure("no", "refused"), True)], ids=["ok", "failure"]
)
def test_the_protocol_hears_whether_it_failed(result: Result[Any], *, is_error: bool) -> None:
    reply = result.to_mcp()

    assert reply["isError"] is is_error
    assert ("structuredContent" in reply) is not is_error


def test_a_generator_is_used_up_only_once() -> None:
    reply = Result.ok(n for n in (1, 2)).to_mcp()

    assert reply["structuredContent"] == {"result": [1, 2]}
    assert json.loads(reply["content"][0]["text"]) == [1, 2]


def test_what_is_said_beside_a_value_is_addressed() -> None:
    reply = Result.ok({"a": 1}, message="For you.", instruction="For it.").to_mcp()

    assert reply["structuredContent"] == {"a": 1}
    assert [(block["text"], block.get("annotations")) for block in reply["content"]] == [
        ('{"a": 1}', None),
        ("For you.", {"audience": ["user"]}),
        ("For it.", {"audience": ["assistant"]}),
    ]


def test_a_failure_is_its_sentence_and_its_words_for_programs_are_metadata() -> None:
    reply = Result.failure("no lamp", "not_found", instruction="Ask.", exception=KeyError("lamp")).to_mcp()

    assert [block["text"] for block in reply["content"]] == ["no lamp", "Ask."]
    assert reply["_meta"] == {"error_type": "not_found", "exception_type": "KeyError", "exception_message": "'lamp'"}


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
