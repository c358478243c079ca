"""Trial starts for a person: a line for each one, and on a terminal those still in progress."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Collection, Sequence

import anyio

from mcp_core.line_log import hush_log
from mcp_core.visible_text import visible, visible_line
from onetool.cli.printing import paint, say
from onetool.console.clean_text import count_of, one_line, show_seconds, write_encodable
from onetool.doctor.packs import Start, Trial, Watcher, try_starts
from ot.config.loader import LoadedConfig

_AGAIN = 0.2  # seconds between two updates of the line in progress
_ERASE = "\r\x1b[K"


def show_starts(
    loaded: LoadedConfig, servers: Collection[str], *, extensions: bool, quiet: bool = False
) -> list[Trial]:
    """Start these servers, and all extensions if wanted; show each result at once, unless `quiet`."""
    if loaded.config.log.file is None:  # the lines say what failed; a log would be mixed with them
        hush_log()
    lines = TrialLines(quiet=quiet)

    async def start() -> list[Trial]:
        async with anyio.create_task_group() as tasks:
            if lines.live:
                tasks.start_soon(lines.keep_drawing)
            trials = await try_starts(loaded, servers=servers, extensions=extensions, watcher=lines)
            tasks.cancel_scope.cancel()
        return trials

    try:
        return anyio.run(start)
    finally:
        lines.erase()


class TrialLines(Watcher):
    """Prints aligned lines in the order of the list; on a terminal in the order of completion."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.live = not quiet and sys.stdout.isatty() and sys.stderr.isatty()
        self._quiet = quiet
        self._doing: dict[Start, str] = {}
        self._known: dict[Start, Trial] = {}
        self._width = 0
        self._since = time.monotonic()

    def begin(self, starts: Sequence[Start]) -> None:
        self._doing = dict.fromkeys(starts, "")
        self._width = max((len(start.label) for start in starts), default=0)

    def tell(self, start: Start, doing: str) -> None:
        self._doing[start] = doing

    def end(self, trial: Trial) -> None:
        self._known[trial.start] = trial
        if self.live:
            self.erase()
        while self._doing and (start := trial.start if self.live else next(iter(self._doing))) in self._known:
            del self._doing[start]
            if not self._quiet:
                self._show(self._known.pop(start))

    def _show(self, trial: Trial) -> None:
        label, seconds = visible(f"{trial.start.label}:").ljust(self._width + 1), show_seconds(trial.seconds)
        if not trial.failure:
            say(f"{label} {count_of(trial.tools, 'tool'):>9}, {trial.tokens:>6,} tokens, {seconds:>6}")
            return
        failed = visible(f"failed after {seconds}: {' '.join(trial.failure.split())}")
        say(f"{label} {paint(failed, 'red')}")
        for line in trial.last_words:
            say(visible_line(f"    {line}"))

    async def keep_drawing(self) -> None:
        while True:
            await anyio.sleep(_AGAIN)
            if not self._doing:
                continue
            names = (f"{start.label} ({doing})" if doing else start.label for start, doing in self._doing.items())
            text = f"starting for {time.monotonic() - self._since:.0f} s: {', '.join(names)}"
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be erased
            write_encodable(f"{_ERASE}{one_line(text, width)}", sys.stderr)

    def erase(self) -> None:
        if self.live:
            write_encodable(_ERASE, sys.stderr)
