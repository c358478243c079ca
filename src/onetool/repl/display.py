"""Answers of runs in a terminal: the text that a model would read, in colour."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.highlighter import ReprHighlighter
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from onetool.console.clean_text import clean, one_line, show_seconds
from ot.run.answer import Answer

SOON = 0.3  # seconds after which a person is told that the code still runs
_KEY = r"(?m)(?:^[ -]*|[{,] ?)([A-Za-z_][\w.-]*)(?=: |:$)"


class ReplDisplay:
    """Shows that code runs, and then its answer."""

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._highlight = ReprHighlighter()
        self._began = 0.0
        self._doing = ""
        self._spinner = Spinner("dots", style="cyan")
        self._live: Live | None = None

    def begin(self) -> None:
        """Code runs from now on."""
        self._began, self._doing = self._clock(), ""

    def tick(self, doing: str = "") -> None:
        """Time has passed, or a call has said what it is doing."""
        self._doing = doing or self._doing
        elapsed = self._clock() - self._began
        if elapsed < SOON:
            return
        if self._live is None:
            self._live = Live(self._spinner, console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        words = one_line(self._doing or "running", max(self._console.width - 16, 20))
        self._spinner.update(text=Text(f"{words}  {show_seconds(elapsed)}", style="dim"))
        self._live.refresh()

    def pause(self) -> None:
        """Somebody else writes for a while."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, answer: Answer) -> None:
        """Show an answer; what is not text is named."""
        self.pause()
        text = Text(clean(answer.text.removesuffix("\n")))
        if answer.is_error:
            text.stylize("red")
        else:
            self._highlight.highlight(text)
            text.highlight_regex(_KEY, "cyan")
        self._console.print(text, soft_wrap=True)
        for item in answer.attachments:
            self._console.print(Text(f"(not shown: {item!r})", style="dim"))

    def note(self, words: str) -> None:
        """Write a line about the repl itself."""
        self.pause()
        self._console.print(Text(words, style="yellow"))
