"""A gap on the machine is loud: skipped for a person, a failure in CI."""

from __future__ import annotations

import pytest

from tests.availability import require_program
from tests.tokens import count_tokens


def test_a_missing_program_skips_on_a_persons_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="MISSING: the program no-such-program"):
        require_program("no-such-program")


def test_a_missing_program_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="MISSING: the program no-such-program"):
        require_program("no-such-program")


def test_tokens_are_counted_without_a_network() -> None:
    assert count_tokens("hello world") == 2
