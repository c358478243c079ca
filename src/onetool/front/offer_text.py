"""What `run` offers at this moment, as its description ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ot.app import App


def word_offer(app: App) -> str:
    """Name the packs that there are, and the time limit."""
    settings = app.runner.settings
    limit = f"A run may take {settings.timeout:g} s"
    if settings.patience:
        limit += f"; after {settings.patience:g} s you get its id, and its answer from `ot.wait`"
    return f"{app.registry.word_packs()} {limit}."
