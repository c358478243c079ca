"""Secrets taken out of text and values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core import Redactor
from mcp_core.mcp_log import looks_secret
from tests.properties import unhurried


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("token=abc next", "token=*** next"),
        ("GITHUB_TOKEN=ghp_abc", "GITHUB_TOKEN=***"),
        ("{'password': 'a \\' b', 'ok': 1}", "{'password': ***, 'ok': 1}"),
        ('{"a": [{"api_key": "k", "b": 2}]}', '{"a": [{"api_key": ***, "b": 2}]}'),
        ("Authorization: Bearer abc.def next", "Authorization: Bearer *** next"),
        ('"authorization": "Basic abc"', '"authorization": ***'),
        ("sent Bearer abc", "sent Bearer ***"),
        ("X-Api-Key: 123, other", "X-Api-Key: ***, other"),
        ("apiKey: 'x'", "apiKey: ***"),
        ("secret={'a': {'b': [1]}} tail", "secret=*** tail"),
        ("tokens: ['a', 'b'] rest", "tokens: *** rest"),
        ("client_secret => x", "client_secret => ***"),
        ("https://user:pass@host/x?access_token=abc&b=1", "https://***:***@host/x?access_token=***&b=1"),
        ("password='never closed", "password=***"),
        ("the tokenizer: fast, secretary: Ann", "the tokenizer: fast, secretary: Ann"),
        ("unexpected token in line 3", "unexpected token in line 3"),
    ],
)
def test_what_follows_a_telling_name_is_masked(text: str, redacted: str) -> None:
    assert Redactor().text(text) == redacted


@pytest.mark.parametrize(
    "name", ["password", "API_KEY", "apiKey", "x-api-key", "access_token", "Authorization", "db.pwd", "jwt"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["tokenizer", "passenger", "author", "key", "secretary", "monkey", ""])
def test_other_names_are_left_alone(name: str) -> None:
    assert not looks_secret(name)


def test_values_that_are_known_are_masked_wherever_they_stand() -> None:
    redactor = Redactor(["correct horse"])
    redactor.learn('battery "staple"')
    redactor.learn("abc")

    assert redactor.text('a correct horse, {"b": "battery \\"staple\\""}, abc') == 'a ***, {"b": "***"}, abc'


secrets = st.text(st.characters(codec="utf-8"), min_size=6).filter(lambda text: "*" not in text)
nested = st.recursive(
    st.sampled_from(["SECRET", "plain", 7, None]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "token", "passwords"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(nested, secrets)
@unhurried
def test_a_known_value_leaves_nothing_at_any_depth(value: Any, secret: str) -> None:
    def fill(part: Any) -> Any:
        match part:
            case dict():
                return {key: fill(item) for key, item in part.items()}
            case list():
                return [fill(item) for item in part]
        return secret if part == "SECRET" else part

    redacted = Redactor([secret]).value({"around": fill(value)})

    assert json.dumps(secret)[1:-1] not in json.dumps(redacted)


@given(nested)
@unhurried
def test_nothing_remains_under_a_telling_key(value: Any) -> None:
    redacted = Redactor().value({"x": [value]})

    def check(part: Any) -> None:
        if isinstance(part, dict):
            assert part.get("token", "***") == part.get("passwords", "***") == "***"
            for item in part.values():
                check(item)
        elif isinstance(part, list):
            for item in part:
                check(item)

    check(redacted)


def test_a_circular_value_ends() -> None:
    circle: dict[str, Any] = {"token": "abc"}
    circle["self"] = circle

    assert "abc" not in repr(Redactor().value(circle))


@given(st.text(st.sampled_from("token=:[{('\"\\ _bearer/@")))
@unhurried
def test_any_text_can_be_looked_through(text: str) -> None:
    Redactor(["secret value"]).text(text)


def test_hostile_text_takes_no_time() -> None:
    for piece in ("token_", "token=[", "token = ", "token='", "bearer ", "://a:", "secret_secret"):
        Redactor().text(piece * 50_000)
