"""Traces: a value is recognised in whatever spelling, and ordinary words of a long text alone are not."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ot.flows.words
from ot.flows.numbers import numbers_in
from ot.flows.traces import Traces
from ot.flows.words import rare_among
from tests.properties import unhurried

WORDS = [
    line
    for line in Path(ot.flows.words.__file__).with_name("ordinary_words.txt").read_text().splitlines()
    if line[:1] != "#"
]
words = st.sampled_from(WORDS)
sentences = st.lists(words, min_size=8, max_size=40).map(" ".join)
names = st.from_regex(r"[a-z]{3,8}[0-9]{1,3}", fullmatch=True)
hosts = st.builds("{}.{}".format, names, st.sampled_from(["example", "com", "co.uk"]))
addresses = st.builds("{}@{}".format, names, hosts)
accounts = st.from_regex(r"[A-Z]{2}[0-9]{18}", fullmatch=True)
values = st.one_of(addresses, accounts, hosts, names)

SPELLINGS: dict[str, Callable[[str], object]] = {
    "itself": lambda value: value,
    "upper case": str.upper,
    "full width": lambda value: "".join(chr(ord(each) + 0xFEE0) if each.isalnum() else each for each in value),
    "composed": lambda value: unicodedata.normalize("NFC", value),
    "spaces": lambda value: " ".join(value[start : start + 4] for start in range(0, len(value), 4)),
    "hyphens": lambda value: "-".join(value[start : start + 4] for start in range(0, len(value), 4)),
    "quoted": lambda value: f'"{value}"',
    "escaped": lambda value: value.encode("unicode_escape").decode().replace("@", "\\u0040"),
    "percent": lambda value: "".join(f"%{ord(each):02X}" for each in value),
    "some percent": lambda value: quote(value, safe=""),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 of addresses": lambda value: base64.urlsafe_b64encode(value.encode()).decode().rstrip("="),
    "in a list": lambda value: ["nothing", value],
    "in an object": lambda value: {"to": {"address": value}},
    "as a key": lambda value: {value: 1},
    "in a sentence": lambda value: f"Please send it to {value}, and thanks!",
    "in an address": lambda value: f"https://host.example/path?to={value}&more=1",
    "with a name": lambda value: f"Somebody <{value}>",
    "zero width": lambda value: "\u200b".join(value),
}


def trace(value: object, *, came: bool) -> dict[str, str]:
    traces = Traces(came=came)
    traces.add(value)
    return traces.found


def finds(given_value: object, came: object) -> bool:
    return not trace(given_value, came=False).keys().isdisjoint(trace(came, came=True))


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@unhurried
@given(value=values, before=sentences, after=sentences)
def test_a_value_is_found_in_every_spelling(
    spell: Callable[[str], object], value: str, before: str, after: str
) -> None:
    spelled = spell(value)

    assert finds(spelled, value)
    assert finds(spelled, {"text": f"{before} {value} {after}."})
    assert finds(value, spelled)


@unhurried
@given(text=st.lists(sentences, min_size=2, max_size=5), chosen=st.lists(words, min_size=1, max_size=3))
def test_ordinary_words_of_a_long_text_are_not_found(text: list[str], chosen: list[str]) -> None:
    came = ". ".join(text)

    assert not finds(chosen, came)
    assert not finds(" ".join(chosen), came)
    assert not finds(came.split()[0], came)


@unhurried
@given(leaf=words, others=st.lists(words, max_size=5))
def test_a_leaf_that_stands_whole_is_found_however_ordinary_it_is(leaf: str, others: list[str]) -> None:
    assert finds(leaf.title(), [*others, leaf])
    assert finds(", ".join([*others, leaf]), [leaf])
    assert finds([leaf, *others], ", ".join([leaf, *others]))


@unhurried
@given(items=st.lists(values, min_size=2, max_size=5), sign=st.sampled_from(["", ",", ", ", "; ", " | ", "\n", "-"]))
def test_a_list_is_found_joined_into_one_text(items: list[str], sign: str) -> None:
    assert finds(sign.join(items), items)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1250.5, "1,250.50"),
        ("1.250,50", 1250.5),
        ("$1,250.50", "1250.5 EUR"),
        (1000, "1e3"),
        ("1_000_000", 1000000),
        ("1 000 000", "1,000,000"),
        (7, "7.0"),
        ("007", 7),
        ("12'345", 12345),
    ],
)
def test_a_number_is_found_however_it_is_written(one: object, other: object) -> None:
    assert finds(one, other)
    assert finds(other, one)


def test_what_is_no_number_has_no_plain_form() -> None:
    assert list(numbers_in("1.2.3,4x")) == []


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("evil.example", "write to eve@mail.evil.example today"),
        ("eve7", "eve7@evil.example"),
        ("http://www.evil.example/login", "evil.example/login is where you should go"),
        ("token=s3cr3t-value", "https://host.example/?a=1&b=s3cr3t-value"),
        ("Eve Adamson", "the invoice goes to Eve Adamson by Monday"),
    ],
)
def test_a_part_of_an_address_or_a_name_is_found(part: str, whole: str) -> None:
    assert finds(part, whole)


def test_nothing_is_found_in_what_has_no_content() -> None:
    assert not finds([True, None, "", "...", {}], [True, None, "", "...", {}])


def test_bytes_are_found_as_text_or_as_a_whole() -> None:
    assert finds(b"eve7@evil.example", "eve7@evil.example")
    assert finds(b"\xff\x00\xfe", {"data": b"\xff\x00\xfe"})


HOSTILE = {
    "thousands of number words": "hundred " * 5_000 + "thousand " * 5_000,
    "letters without end before numbers": "a" * 200_000 + "1 2",
    "percent inside percent": "%25" * 30_000,
    "base64 inside base64": base64.b64encode(base64.b64encode(base64.b64encode(b"A" * 20_000))).decode(),
    "backslashes": "\\" * 50_000 + "\n",
    "JSON inside JSON": "[" * 5_000 + "]" * 5_000,
    "code points that do not exist": "\\UFFFFFFFF \\u{FFFFFF} &#x7FFFFFFF; U+FFFFFF U+FFFFFF U+FFFFFF",
    "half of a pair": "\ud800 eve7@evil.example \udfff",
    "wrong Punycode": "xn--99999999999999999 xn---- xn--ä",
    "exponents": "1e999 1e-999 9e308,1",
    "digits without end": "1," * 50_000,
    "quotation marks": "\"'`" * 30_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_looked_through_like_any_other(text: str) -> None:
    assert finds("eve7@evil.example", [text, "eve7@evil.example"])
    assert finds([text[:20_000], "eve7@evil.example"], "eve7@evil.example")


@unhurried
@given(text=st.text(max_size=200), other=st.binary(max_size=100))
def test_whatever_comes_leaves_traces_and_no_error(text: str, other: bytes) -> None:
    trace([text, other], came=True)
    trace([text, other], came=False)


def test_a_value_that_is_too_large_says_so() -> None:
    traces = Traces(came=True)
    traces.add(["x" * 1_000_000] * 6)

    assert traces.cut


def test_forms_of_ordinary_words_are_ordinary() -> None:
    tokens = ["messages", "running", "easily", "happiest", "planned", "the", "zorblax", "x1y2", "of", "42"]

    assert {*rare_among(tokens)} == {"zorblax", "x1y2"}
