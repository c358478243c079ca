"""Secrets do not leave, wherever in a value they are."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ot.text.output import render
from ot.text.redaction import Redactor
from ot_kernel.project_path import ProjectPath
from ot_kernel.values import Image, Record, Resource, dumps

SECRET = "s3cr3t-value"
KEY = UUID("12345678-1234-5678-1234-567812345678")


class Pair(NamedTuple):
    left: int
    right: str


@dataclass
class Account:
    name: str
    token: str


class Settings(BaseModel):
    token: str


@pytest.fixture
def redactor() -> Redactor:
    return Redactor([SECRET, str(KEY)])


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        (f"a {SECRET} b {SECRET}", "a *** b ***"),
        ([1, (SECRET, {SECRET: [SECRET]})], [1, ("***", {"***": ["***"]})]),
        ({SECRET}, {"***"}),
        (frozenset({SECRET}), frozenset({"***"})),
        (Record("R", {"token": SECRET, SECRET: 1}), {"token": "***", "***": 1}),
        (Account("me", SECRET), {"name": "me", "token": "***"}),
        (Settings(token=SECRET), {"token": "***"}),
        (Pair(1, SECRET), {"left": 1, "right": "***"}),
        (OrderedDict(a=SECRET), {"a": "***"}),
        (MappingProxyType({"a": SECRET}), {"a": "***"}),
        (b"\xff token=" + SECRET.encode(), b"\xff token=***"),
        (bytearray(SECRET.encode()), b"***"),
        (Path("/tmp") / SECRET, Path("/tmp/***")),
        (ProjectPath("p", f"/x/{SECRET}", {"key": SECRET}), Path("/x/***")),
        (KEY, "***"),
        (iter([SECRET, 1]), ["***", 1]),
        ({"late": (s for s in [SECRET])}, {"late": ["***"]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_secret_is_replaced_inside(redactor: Redactor, value: Any, redacted: Any) -> None:
    found = redactor.value(value)

    assert found == redacted
    assert SECRET not in dumps(found)


def test_records_keep_their_form(redactor: Redactor) -> None:
    found = redactor.value(Account("me", SECRET))

    assert isinstance(found, Record)
    assert (found.record_name, found.token) == ("Account", "***")


def test_resources_lose_secrets_and_pictures_stay_whole(redactor: Redactor) -> None:
    resource = redactor.value(Resource(f"x://{SECRET}", text=SECRET, data=SECRET.encode(), name=SECRET))
    image = Image(b"\x89PNG" + SECRET.encode())

    assert (resource.uri, resource.text, resource.data, resource.name) == ("x://***", "***", b"***", "***")
    assert redactor.value(image) is image


def test_what_has_no_secret_is_the_same_object(redactor: Redactor) -> None:
    value = {"a": [1, "x", (2.5, None)], "b": Account("me", "none"), "c": Record("R", {"d": b"e"})}

    assert redactor.value(value) is value


def test_circles_and_shared_parts_come_to_an_end(redactor: Redactor) -> None:
    circle: list[Any] = [SECRET]
    circle.append(circle)
    shared: Any = [SECRET]
    for _ in range(60):
        shared = [shared, shared]

    found = redactor.value(shared)

    assert redactor.value(circle)[0] == "***"
    while isinstance(found, list):
        found = found[0]
    assert found == "***"


@pytest.mark.parametrize("secret", ["quo\"te's and\\slash", "line\nbreak\nkey", "ключ-секрет", "tab\tkey"], ids=repr)
def test_a_secret_is_found_in_quoted_text_too(secret: str) -> None:
    redactor = Redactor([secret])

    for text in (secret, repr(secret), repr([secret]), dumps({"a": secret}), render([secret]).text):
        assert "***" in redactor.text(text), text


def test_a_secret_that_begins_with_another_is_replaced_whole() -> None:
    assert Redactor(["abcdef", "abcdefghi"]).text("abcdefghi abcdef") == "*** ***"


def test_short_values_are_left_alone() -> None:
    redactor = Redactor(["abc", ""])

    assert not redactor.active
    assert redactor.text("abc") == "abc"


values = st.recursive(
    st.none() | st.integers() | st.text() | st.just(SECRET) | st.text().map(lambda text: text + SECRET + text),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just(SECRET), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(values)
def test_no_value_keeps_a_secret(value: Any) -> None:
    assert SECRET not in repr(Redactor([SECRET]).value(value))
