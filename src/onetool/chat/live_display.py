"""An answer in a terminal: settled text is printed for good, and only what may still change is drawn again.

That is what keeps it calm: a region that is redrawn is never longer than the screen, and nothing is printed twice. It
is drawn by whoever shows events, and not by a thread of its own: two that draw at once lose track of the cursor.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from onetool.chat.display import NOTES, describe_end, describe_retry
from onetool.console.clean_text import clean, show_call, show_seconds
from ot.ai import Event, Finished, Retrying, TextDelta, ToolEnded, ToolStarted

LONGEST_BLOCK = 20_000  # characters; a longer one is not laid out again with every piece of it


class MarkdownBlocks:
    """Markdown that arrives in pieces. Whatever stands before the last block can no longer change."""

    def __init__(self) -> None:
        self._parser = MarkdownIt().enable("table")
        self.open = ""  # the block that is still being written

    def feed(self, text: str) -> str:
        """Add a piece; return what it settled, which may be nothing."""
        self.open += text
        if "\n" not in text:
            return ""
        lines = self.open.splitlines(keepends=True)
        tokens = self._parser.parse(self.open)
        start = max((token.map[0] for token in tokens if token.level == 0 and token.map), default=0)
        settled = "".join(lines[:start])
        self.open = self.open[len(settled) :]
        return settled

    def end(self) -> str:
        rest, self.open = self.open, ""
        return rest


_INTERVAL = 0.08  # seconds between two drawings


class LiveDisplay:
    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._live: Live | None = None
        self._blocks = MarkdownBlocks()
        self._plain = False
        self._gap = False
        self._drawn = float("-inf")
        self._running: dict[str, tuple[ToolStarted, float]] = {}
        self._spinner = Spinner("dots", style="cyan")

    def begin(self) -> None:
        self._blocks = MarkdownBlocks()
        self._plain = self._gap = False
        self._running.clear()
        self._start()

    def show(self, event: Event) -> None:
        self._start()
        match event:
            case TextDelta():
                self._add(clean(event.text))
            case ToolStarted():
                self._settle()
                self._running[event.id] = (event, self._clock())
            case ToolEnded():
                call, _ = self._running.pop(event.id, (None, 0.0))
                line = describe_end(event, call, self._console.width)
                self._print(Text(line, style="dim" if event.ok else "red"))
            case Retrying():
                self._settle()
                self._print(Text(describe_retry(event), style="yellow"))
            case Finished() if event.reason in NOTES:
                self._settle()
                self._print(Text(NOTES[event.reason], style="yellow"))
        self.tick()

    def tick(self) -> None:
        now = self._clock()
        if self._live is not None and now - self._drawn >= _INTERVAL:
            self._drawn = now
            self._live.refresh()

    def pause(self) -> None:
        """Somebody else writes for a while; the next event draws on."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def end(self, note: str = "") -> None:
        stopped, self._running = list(self._running.values()), {}
        self._settle()
        for call, since in stopped:
            seconds = show_seconds(self._clock() - since)
            shown = show_call(call.name, call.arguments, max(self._console.width - len(seconds) - 16, 20))
            self._print(Text(f"✗ {shown}  {seconds}, stopped", style="yellow"))
        self.pause()
        if note:
            self._console.print(Text(note, style="yellow"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw what may still change, cut to what fits on the screen."""
        room = max(console.height - len(self._running) - 2, 1)  # lines; two are spare
        if self._blocks.open.strip():
            for line in console.render_lines(_lay_out(self._blocks.open), options, pad=False)[-room:]:
                yield from line
                yield Segment.line()
        for started, since in list(self._running.values())[:room]:
            seconds = show_seconds(self._clock() - since)
            call = show_call(started.name, started.arguments, max(console.width - len(seconds) - 8, 20))
            yield Text.assemble(self._frame(), (f" {call}  {seconds}", "dim"))
        if not self._running and not self._blocks.open.strip():
            yield self._frame()

    def _frame(self) -> Text:
        frame = self._spinner.render(self._clock())
        return frame if isinstance(frame, Text) else Text("…")

    def _start(self) -> None:
        if self._live is None:
            self._live = Live(self, console=self._console, auto_refresh=False, transient=True)
            self._live.start(refresh=True)

    def _add(self, text: str) -> None:
        if self._plain:
            self._console.print(Text(text), end="")
            return
        settled = self._blocks.feed(text)
        if settled.strip():
            self._print_markdown(settled)
        if len(self._blocks.open) > LONGEST_BLOCK:
            # Laying it out with every piece would take longer than reading it.
            self.pause()
            self._plain = True
            self._console.print(Text(self._blocks.end()), end="")

    def _settle(self) -> None:
        """Print for good what was still being written."""
        if self._plain:
            self._console.print()
            self._plain = False
        rest = self._blocks.end()
        if rest.strip():
            self._print_markdown(rest)

    def _print_markdown(self, text: str) -> None:
        if self._gap:
            self._console.print()
        self._console.print(_lay_out(text))
        self._gap = True

    def _print(self, text: Text) -> None:
        self._console.print(text)
        self._gap = False


def _lay_out(text: str) -> Markdown:
    # A link shows its address: what a model calls it may be something else.
    return Markdown(text, hyperlinks=False)
