"""The conversation of the repl: prompt, run, answer. Importing this loads prompt_toolkit and rich."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Shown
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from rich.console import Console
from rich.highlighter import ReprHighlighter
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from onetool.console.clean_text import clean, one_line, show_seconds
from onetool.console.engine_events import ExitRequested, Question
from onetool.console.prompt import Prompt
from onetool.repl.completion import Completion, indentation_after, is_whole
from onetool.repl.session import Session
from ot.run.answer import Answer

HISTORY = "repl_history"
_SHOWN = 60  # characters of a completion in a list


class _CodeCompleter(Completer):
    def __init__(self, complete: Callable[[str], list[Completion]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Shown]:
        for found in self._complete(document.text_before_cursor):
            yield Shown(found.text, start_position=-found.typed, display=one_line(found.shown or found.text, _SHOWN))


def _bindings() -> KeyBindings:
    """Bind Enter, which runs whole code; Alt-Enter, which begins another line; and Tab in a margin, which indents."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + indentation_after(buffer.document.current_line_before_cursor))

    @bindings.add("escape", "enter")
    def _next_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @Condition
    def in_margin() -> bool:
        """True before the first word of a further line."""
        document = get_app().current_buffer.document
        return document.cursor_position_row > 0 and not document.current_line_before_cursor.strip()

    @bindings.add("tab", filter=in_margin)
    def _indent(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("    ")

    return bindings


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
        self.pause()
        self._console.print(Text(words, style="yellow"))


STOPPED = "Stopped."


def converse(session: Session, state: Path, say: Callable[[str], None]) -> None:
    """Run what the person types until they exit; the history is a file in the `state` folder, for its owner alone."""
    keys, completer, lexer = _bindings(), _CodeCompleter(session.complete), PygmentsLexer.from_filename("run.py")
    prompt = Prompt(state, say=say, history=HISTORY, keys=keys, completer=completer, lexer=lexer, interrupts=0)
    display = ReplDisplay(Console())
    say(f"{session.count_packs()} packs. Tab completes, Ctrl-C stops code, Ctrl-D exits.")
    say("Each input is its own run: variables are not kept; _ is the last value. :preview CODE shows what it would do.")
    while True:
        try:
            code = prompt.ask()
            if code.strip() in ("exit", "exit()", "quit", "quit()"):
                return
            _show(session, code, display, prompt)
        except ExitRequested:
            return
        except KeyboardInterrupt:
            display.note(STOPPED)


def _show(session: Session, code: str, display: ReplDisplay, prompt: Prompt) -> None:
    """Show progress and the answer of a run; if it is interrupted, the run ends."""
    display.begin()
    with closing(session.run(code)) as happenings:
        for happening in happenings:
            match happening:
                case Question():
                    display.pause()
                    happening.answer(prompt.choose(happening.text, happening.choices))
                case Answer():
                    display.show(happening)
                case _:
                    display.tick(happening or "")
