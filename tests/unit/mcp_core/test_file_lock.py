"""Locks on open files: taken, waited for, given back, and not missed where there are none."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Timer

from mcp_core.file_lock import lock, try_lock


def test_a_lock_that_another_has_is_not_taken_until_it_is_given_back(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("ab") as waiting:
        with (tmp_path / "lock").open("ab") as holding:
            assert try_lock(holding.fileno())
            assert not try_lock(waiting.fileno())
            assert not lock(waiting.fileno(), patience=0)

        assert try_lock(waiting.fileno())


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    for patience in (None, 60.0):
        with (tmp_path / "lock").open("ab") as holding, (tmp_path / "lock").open("ab") as waiting:
            assert lock(holding.fileno())
            Timer(0.05, holding.close).start()

            assert lock(waiting.fileno(), patience=patience)
            assert holding.closed


def test_what_has_no_locks_keeps_nobody_waiting(tmp_path: Path) -> None:
    unlockable = os.open(tmp_path, os.O_PATH)
    try:
        assert lock(unlockable)
        assert lock(unlockable, patience=0)
    finally:
        os.close(unlockable)
