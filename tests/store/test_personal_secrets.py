"""Secrets that people set for themselves: sealed, theirs alone, the same at every replica."""

from __future__ import annotations

from pathlib import Path

import pytest

from ot.config.personal_secrets import PersonalSecrets
from ot.config.secrets import Secrets
from ot.store.sealing import Sealer, SealError
from tests.store.personal_parts import SEALER, OpenParts, open_parts

__all__ = ["open_parts"]


def secrets_of(open_parts: OpenParts, principal: str, replica: int = 1, sealer: Sealer = SEALER) -> PersonalSecrets:
    shelf = open_parts(principal, replica).shelf
    shelf.catch_up()
    return PersonalSecrets(shelf, principal, lambda: sealer)


def test_a_person_sets_replaces_and_removes_secrets(open_parts: OpenParts) -> None:
    own = secrets_of(open_parts, "ada")
    before = own.state()
    own.put("BRAVE_API_KEY", "first value")
    own.put("BRAVE_API_KEY", "second value")
    own.put("OTHER", "other value")
    own.remove("OTHER")
    own.remove("NEVER")

    again = secrets_of(open_parts, "ada", 2)
    assert again.read() == {"BRAVE_API_KEY": "second value"}
    assert again.names() == ["BRAVE_API_KEY"]
    assert own.state() != before


def test_they_lie_sealed_and_are_nobody_elses(open_parts: OpenParts, tmp_path: Path) -> None:
    secrets_of(open_parts, "bob").put("TOKEN", "hunter2-hunter2")

    assert secrets_of(open_parts, "mallory").read() == {}
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes()
    stolen = PersonalSecrets(open_parts("bob").shelf, "mallory", lambda: SEALER)
    with pytest.raises(SealError):
        stolen.read()
    with pytest.raises(SealError):
        stolen.put("TOKEN", "x")


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("a b", "x"), ("1A", "x"), ("A", ""), ("A", "x" * 70_000)])
def test_what_can_be_no_secret_is_refused_without_being_quoted(open_parts: OpenParts, name: str, value: str) -> None:
    with pytest.raises(ValueError, match="secret") as caught:
        secrets_of(open_parts, "dan").put(name, value)
    assert "xx" not in str(caught.value)


def test_nobody_takes_their_name_out_of_the_log_by_calling_it_a_secret(open_parts: OpenParts) -> None:
    own = secrets_of(open_parts, '["https://id.example","mallory"]')
    with pytest.raises(ValueError, match="own name"):
        own.put("TOKEN", "mallory")


def test_own_secrets_come_before_those_of_all() -> None:
    team = Secrets({"A": "value of the team", "B": "another of the team"}, environ={"C": "of the machine"})

    joined = team.overlaid({"A": "value of Ada", "C": "another of Ada"})

    assert [joined.get(name) for name in "ABC"] == ["value of Ada", "another of the team", "another of Ada"]
    assert {"value of the team", "value of Ada"} <= joined.known_values()
    assert team.get("A") == "value of the team"
