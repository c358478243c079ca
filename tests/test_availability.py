"""A gap on the machine is loud: skipped for a person, a failure in CI."""

from __future__ import annotations

import os
import re
from pathlib import Path

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


def test_no_test_is_skipped_without_a_word_for_what_is_missing() -> None:
    silent = re.compile(r"importorskip\(|skipif\([^\n]*(which|find_uv|find_spec)\(")
    found = []
    for folder, below, files in os.walk(Path(__file__).parent):
        below[:] = [name for name in below if not name.startswith(".") and name != "node_modules"]
        found += [Path(folder, name) for name in files if name.startswith("test_") and name.endswith(".py")]

    assert len(found) > 300
    assert [file.name for file in found if silent.search(file.read_text())] == []


def test_tokens_are_counted_without_a_network() -> None:
    assert count_tokens("hello world") == 2
