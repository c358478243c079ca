"""The command that puts a guardian above a program (see `ot_sdk.guardian`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ot_sdk.worker import GUARD, GUARD_STRANGER


def guarded(sdk: Path, command: Sequence[str]) -> list[str]:
    """A program of ours, which knows of the ledger; `sdk` is the folder of `ot_sdk`."""
    return [sys.executable, "-S", main_of(sdk), GUARD, *command]


def guarded_stranger(sdk: Path, command: Sequence[str]) -> list[str]:
    """Any other program: it inherits nothing of ours, and what it sets for Python does not reach the guardian."""
    return [sys.executable, "-I", "-S", main_of(sdk), GUARD_STRANGER, *command]


def main_of(sdk: Path) -> str:
    """The file that begins a worker, or a guardian."""
    return str(sdk / "ot_sdk" / "__main__.py")
