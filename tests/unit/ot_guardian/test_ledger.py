"""The ledger tells which calls have begun, and how the worker ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ot_guardian import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with (tmp_path / "ledger").open("w+b", buffering=0) as file:
        yield Ledger(file.fileno())


def test_a_call_has_begun_once_it_was_entered(ledger: Ledger) -> None:
    ledger.begin(3, 17)

    assert ledger.has_begun(3, 17)


def test_what_stands_in_a_slot_from_before_is_another_call(ledger: Ledger) -> None:
    ledger.begin(0, 1)

    assert not ledger.has_begun(0, 2)
    assert not ledger.has_begun(1, 1)


@pytest.mark.parametrize("status", [0, 9, 3 << 8])
def test_the_status_is_read_as_it_was_written(ledger: Ledger, status: int) -> None:
    assert ledger.status() is None

    ledger.end(status)

    assert ledger.status() == status


def test_slots_do_not_touch_the_status(ledger: Ledger) -> None:
    ledger.end(0)
    for slot in range(100):
        ledger.begin(slot, slot + 1)

    assert ledger.status() == 0
    assert os.fstat(ledger.descriptor).st_size == 8 * 101
