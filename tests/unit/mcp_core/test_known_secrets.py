"""Secrets that are known, found in every form in which text carries them."""

from __future__ import annotations

import base64
import html
import json
import re
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_core import KnownSecrets, Redactor
from ot.text.redaction import Redactor as EngineRedactor
from tests.properties import unhurried

SECRET = 'pä"sswörd & more'

FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "repr": repr,
    "JSON": lambda secret: json.dumps({"a": secret}),
    "JSON in Unicode": lambda secret: json.dumps({"a": secret}, ensure_ascii=False),
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret, ensure_ascii=False), ensure_ascii=False),
    "URL": quote,
    "URL without slashes": lambda secret: quote(secret, safe=""),
    "form": quote_plus,
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 for addresses": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "basic authorisation": lambda secret: base64.b64encode(f"user:{secret}".encode()).decode(),
}


@pytest.mark.parametrize("redactor", [Redactor, EngineRedactor], ids=["servers", "engine"])
@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("secret", ['pä"sswörd', SECRET, "a/b?c=d+e~", "plain-token_123"], ids=repr)
def test_a_secret_is_masked_in_every_form(
    redactor: type[Redactor | EngineRedactor], write: Callable[[str], str], secret: str
) -> None:
    text = f"before {write(secret)} after"

    redacted = redactor([secret]).text(text)

    assert "***" in redacted
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


# No letter twice: where a secret repeats itself, another part of it may be found first, and leave a few more bits.
unlike_itself = st.lists(st.sampled_from(string.ascii_letters), min_size=6, max_size=20, unique=True).map("".join)


@given(st.binary(max_size=8), unlike_itself, st.binary(max_size=8))
@unhurried
def test_base64_of_something_around_a_secret_does_not_give_it_away(before: bytes, secret: str, after: bytes) -> None:
    raw = secret.encode()

    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        redacted = KnownSecrets([secret]).text(encode(before + raw + after).decode())

        head, found, tail = redacted.partition("***")
        assert found
        # Of the characters that are left, at most one at each side holds bits of the secret, and never all of a byte.
        assert len(head) <= -(-len(before) * 8 // 6)
        assert len(tail.rstrip("=")) <= -(-len(after) * 8 // 6) + 1


def json_forms(letter: str) -> list[str]:
    code = f"{ord(letter):04x}"
    return [
        json.dumps(letter)[1:-1],
        f"\\u{code}",
        f"\\u{code.upper()}",
        f"\\\\u{code}",
        *(["\\/"] if letter == "/" else []),
    ]


def address_forms(letter: str) -> list[str]:
    code = f"%{ord(letter):02x}"
    return [quote(letter, safe=""), code, code.upper(), f"%25{code[1:]}", *(["+"] if letter == " " else [])]


ESCAPES: list[Callable[[str], list[str]]] = [
    json_forms,
    address_forms,
    lambda letter: [html.escape(letter), f"&#{ord(letter)};"],
]
# No letter twice, so that no part of a secret is another one's; and enough of them for six without escapes of its own.
secrets_of_signs = st.lists(
    st.sampled_from(string.ascii_letters + string.digits + " +/=-_.~\"'\\%&?#@\n"), min_size=10, unique=True
).filter(lambda letters: letters[-1] != "\\")


@given(secrets_of_signs, st.data(), st.sampled_from(["", "x" * 3, '{"a": "b\\n"} %20 &amp; ' * 60]))
@unhurried
def test_nothing_is_left_of_a_secret_whatever_escapes_are_mixed(
    letters: list[str], data: st.DataObject, around: str
) -> None:
    choose = st.sampled_from(ESCAPES).flatmap(lambda forms: st.sampled_from(range(2)).map(lambda plain: (forms, plain)))
    written = [
        data.draw(st.sampled_from(forms(letter))) if escaped else letter
        for letter in letters
        for forms, escaped in [data.draw(choose)]
    ]
    redactor = KnownSecrets(["".join(letters), "another secret"])

    masked = redactor.text(f"{around}<{''.join(written)}>{around}")

    assert masked == f"{around}<***>{around}"


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("line\nand\\nmore", "line\nand\\\\u006Emore"),
        ("line\nand\\nmore", "line\nand\\%6emore"),
        ("begin\\x41end", "begin\\\\u007841end"),
        ("a\nb\\nc\\nd\\re", "a\nb\\nc\\u006Ed\\&#114;e"),
    ],
)
def test_a_backslash_of_a_secret_begins_no_escape_of_the_text(secret: str, written: str) -> None:
    assert KnownSecrets([secret]).text(f"<{written}>") == "<***>"


@given(secrets_of_signs.map("".join), st.binary(max_size=90), st.integers(4, 76), st.data())
@unhurried
def test_base64_in_lines_does_not_give_a_secret_away(
    secret: str, before: bytes, width: int, data: st.DataObject
) -> None:
    encode = data.draw(st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\\\\r\\\\n", "%0A", "%0d%0a"]))
    slash = data.draw(st.sampled_from(["/", "\\/", "\\u002f", "%2F"]))
    text = encode(before + secret.encode() + b"\0\0\0").decode()
    lines = [text[at : at + width].replace("/", slash) for at in range(0, len(text), width)]

    masked = KnownSecrets([secret]).text(end.join(lines))

    head, found, tail = masked.partition("***")
    assert found
    left = [re.sub(r"\\u002f|%2F|\\+/", "/", part) for part in (head, tail)]
    left = [re.sub(r"\\+r\\+n|\\+n|%0[AaDd]|\s", "", part) for part in left]
    assert len(left[0]) <= -(-len(before) * 8 // 6)
    assert len(left[1].rstrip("=")) <= 5


@pytest.mark.parametrize("backslash", ["\\", "\\\\", "\\\\\\\\"], ids=["once", "twice", "three times"])
def test_base64_is_masked_however_often_its_line_breaks_are_escaped(backslash: str) -> None:
    text = base64.b64encode(b"before a-value-nobody-should-see, after").decode()
    lines = [text[at : at + 8] for at in range(0, len(text), 8)]

    assert "***" in KnownSecrets(["a-value-nobody-should-see"]).text(f"{backslash}r{backslash}n".join(lines))


PIECES = ["abcdef", "abcdefghij", "efgh-x", "a", "abcde", "ghij", "-x", "\n", "é", "\\u0061", "%62", "\\"]


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(1, 9)))
def test_no_secret_passes_wherever_pieces_end(parts: list[str], sizes: list[int]) -> None:
    whole = "".join(parts).encode()
    pieces, start = [], 0
    for size in [*sizes, len(whole)]:
        pieces.append(whole[start : start + size])
        start += size
    secrets = KnownSecrets(PIECES[:3])

    assert b"".join(secrets.pieces(pieces)).decode() == secrets.text(whole.decode())


def test_a_long_text_is_masked_like_a_short_one() -> None:
    secrets = KnownSecrets([SECRET, "another secret"])
    padding = "nothing to see " * 10_000

    assert secrets.text(f"{padding}{SECRET}{padding}another secret") == f"{padding}***{padding}***"
    assert secrets.text(padding) is padding


def test_what_is_learnt_later_is_masked_too() -> None:
    secrets = KnownSecrets(["first secret"])
    assert secrets.text("second secret") == "second secret"

    secrets.learn("second secret")

    assert secrets.text("first secret, second secret") == "***, ***"


def test_a_secret_that_has_no_utf8_is_masked_as_well() -> None:
    assert KnownSecrets(["odd\ud800secret"]).text("an odd\ud800secret") == "an ***"


def test_short_values_are_left_alone() -> None:
    secrets = KnownSecrets(["abc", ""])

    assert not secrets.active
    assert secrets.text("abc") == "abc"
