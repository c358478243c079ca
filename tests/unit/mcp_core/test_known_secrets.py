"""Secrets that are known, found in every form in which text carries them."""

from __future__ import annotations

import base64
import json
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
