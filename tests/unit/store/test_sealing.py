"""Sealing: only the keys of the server open what was sealed, and only in its place."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ot.config.models import Config
from ot.config.seal_keys import load_sealer
from ot.errors import ConfigError
from ot.store.sealing import Sealer, SealError, key_id, new_key

KEY, OTHER = new_key(), new_key()
RING = Sealer([KEY])


@given(data=st.binary(max_size=2000), place=st.text(max_size=50))
def test_what_was_sealed_opens_in_its_place_and_shows_nothing(data: bytes, place: str) -> None:
    text = RING.seal(data, place=place)

    assert RING.open(text, place=place) == data
    assert RING.seal(data, place=place) != text  # nobody sees that two secrets are the same


def test_it_opens_nowhere_else() -> None:
    text = RING.seal(b"token of Ada", place="ada/github")

    with pytest.raises(SealError, match="a different place"):
        RING.open(text, place="bob/github")


@given(at=st.integers(0, 10_000), other=st.characters(max_codepoint=126, min_codepoint=33))
def test_changed_text_never_opens_as_something_else(at: int, other: str) -> None:
    text = RING.seal(b"token", place="here")
    at %= len(text)
    changed = text[:at] + other + text[at + 1 :]
    with suppress(SealError):
        assert RING.open(changed, place="here") == b"token"  # bits of the last character that count for nothing


@pytest.mark.parametrize("text", ["", "x", "sealed1.x", "sealed1..", "sealed1.x.y.z", "sealed2.x.y", '{"tokens": {}}'])
def test_text_that_was_never_sealed_is_refused(text: str) -> None:
    with pytest.raises(SealError):
        RING.open(text, place="")


def test_keys_are_replaced_by_putting_a_new_one_first() -> None:
    before = RING.seal(b"token", place="here")
    both = Sealer([OTHER, KEY])

    assert both.open(before, place="here") == b"token"
    assert not both.is_current(before)
    after = both.seal(b"token", place="here")
    assert both.is_current(after)
    assert Sealer([OTHER]).open(after, place="here") == b"token"
    with pytest.raises(SealError, match=key_id(KEY)):
        Sealer([OTHER]).open(before, place="here")


def test_without_a_key_nothing_is_sealed() -> None:
    with pytest.raises(SealError, match="no key"):
        Sealer([]).seal(b"token", place="here")


def test_one_machine_makes_its_key_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    text = load_sealer(Config(), tmp_path / "state").seal(b"token", place="here")

    assert load_sealer(Config(), tmp_path / "state").open(text, place="here") == b"token"
    assert (tmp_path / "state" / "seal.keys").stat().st_mode & 0o777 == 0o600


def test_replicas_are_given_their_keys(tmp_path: Path) -> None:
    shared = {"store": "postgresql://db.example/onetool"}
    with pytest.raises(ConfigError, match="replicas share needs keys"):
        load_sealer(Config.model_validate(shared), tmp_path)
    assert not list(tmp_path.iterdir())

    found = load_sealer(Config.model_validate({**shared, "seal": {"keys": [KEY, OTHER]}}), tmp_path)
    assert found.ids == (key_id(KEY), key_id(OTHER))


def test_a_file_of_keys_is_closed_to_others_and_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    config = Config.model_validate({"seal": {"file": str(file)}})
    for content, mode, words in (("", 0o600, "no key"), ("short\n", 0o600, "not a key"), (KEY, 0o644, "other users")):
        file.write_text(content)
        file.chmod(mode)
        with pytest.raises(ConfigError, match=words) as caught:
            load_sealer(config, tmp_path)
        assert caught.value.file == file
    file.chmod(0o600)
    file.write_text(f"# since May\n{OTHER}\n\n{KEY}\n")
    assert load_sealer(config, tmp_path).ids == (key_id(OTHER), key_id(KEY))


def test_a_key_of_the_configuration_that_is_none_is_a_mistake_that_does_not_quote_it() -> None:
    with pytest.raises(ValueError, match="not a key") as caught:
        Config.model_validate({"seal": {"keys": ["hunter2"]}})
    assert "hunter2" not in str(caught.value)
    assert KEY not in repr(Config.model_validate({"seal": {"keys": [KEY]}}))
