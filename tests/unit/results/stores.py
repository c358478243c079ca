"""Stores for tests: a folder, a clock that the test moves, and results written into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ot.config.models import ResultSettings
from ot.results.store import ResultStore
from ot.store.results import ResultFiles
from ot.text.redaction import Redactor


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def open_store(
    folder: Path, *, clock: Clock | None = None, secrets: tuple[str, ...] = (), **settings: Any
) -> ResultStore:
    return ResultStore(
        ResultFiles(folder / "state" / "results"),
        ResultSettings.model_validate(settings),
        redactor=Redactor(secrets),
        clock=clock or Clock(),
    )


def files_of(folder: Path, ending: str = "") -> list[str]:
    return sorted(file.name for file in (folder / "state" / "results").iterdir() if file.name.endswith(ending))
