"""The report on a terminal: what is being measured, and each part when it is."""

from __future__ import annotations

import sys
from typing import Self

from rich import box
from rich.console import Console
from rich.table import Table as ShownTable

from bench.figures import Part
from bench.grids import build_grid

_WIDE = 1000  # columns where nobody looks at a terminal, so that no cell breaks


class Terminal:
    """Parts go to stdout, what is being measured to stderr: on a terminal as one line that changes."""

    def __init__(self) -> None:
        self._out = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
        self._progress = Console(stderr=True, highlight=False)
        self._status = self._progress.status("starting")

    def __enter__(self) -> Self:
        if self._progress.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell(self, text: str) -> None:
        if self._progress.is_terminal:
            self._status.update(text)
        else:
            self._progress.print(text, markup=False)

    def show(self, part: Part) -> None:
        """Print a part as a table that can also be pasted into Markdown."""
        grid = build_grid(part)
        shown = ShownTable(box=box.MARKDOWN, title_justify="left", show_edge=True)
        for place, name in enumerate(grid.heading):
            shown.add_column(name, justify="right" if place else "left", overflow="fold")
        for row in grid.rows:
            shown.add_row(*row)
        self.say(f"\n{part.title}")
        if part.about:
            self.say(part.about)
        if grid.rows:
            self._out.print(shown, markup=False)
        for note in part.notes:
            self.say(f"- {note}")

    def say(self, text: str) -> None:
        self._out.print(text, markup=False, soft_wrap=True)
