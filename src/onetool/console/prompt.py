"""The prompt: editing, history, several lines, and a way to exit. Importing this loads prompt_toolkit.

The terminal is in raw mode while a line is typed, so Ctrl-C is a key like any other, and none is lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import DummyHistory, History
from prompt_toolkit.input import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import CompleteStyle

from mcp_core.private_files import make_private
from onetool.console.caller import read_choice, word_choices
from onetool.console.engine_events import ExitRequested
from ot.clients.caller import Choice, Word

HISTORY = "chat_history"
MOST_KEPT = 1000  # lines
_PROMPT = FormattedText([("bold ansicyan", "› ")])
_MORE = FormattedText([("ansicyan", "… ")])
_PLAIN, _PLAIN_MORE = "> ", "  "
_GOES_ON = "\\"


class Prompt:
    """Asks for one thing at a time. The history is a file that only its owner can read.

    Without `keys`, a line that ends with a backslash continues on the next. `interrupts` is how often Ctrl-C must be
    pressed to exit; 0 if it never exits.
    """

    def __init__(
        self,
        state: Path,
        *,
        say: Callable[[str], None],
        history: str = HISTORY,
        keys: KeyBindings | None = None,
        completer: Completer | None = None,
        lexer: Lexer | None = None,
        interrupts: int = 2,
    ) -> None:
        self._say = say
        self._interrupts = interrupts
        self._joins_lines = keys is None
        self._at_terminal = sys.stdout.isatty()
        typed = create_input()
        screen = create_output(sys.stdout if self._at_terminal else sys.stderr)  # a file's stdout is for answers
        if isinstance(screen, Vt100_Output):
            screen.enable_cpr = False  # the place of the cursor matters to menus, and not every terminal tells it
        self._lines: PromptSession[str] = PromptSession(
            history=_FileHistory(state / history),
            multiline=True,
            key_bindings=keys or _bindings(),
            completer=completer,
            complete_style=CompleteStyle.READLINE_LIKE,
            complete_while_typing=False,
            lexer=lexer,
            input=typed,
            output=screen,
        )
        self._answers: PromptSession[str] = PromptSession(history=DummyHistory(), input=typed, output=screen)

    def ask(self) -> str:
        """Return what the person types next; raises ExitRequested at the end of the input, or the second Ctrl-C."""
        interrupted = 0
        while True:
            try:
                prompt, more = (_PROMPT, _MORE) if self._at_terminal else (_PLAIN, _PLAIN_MORE)
                text = self._lines.prompt(prompt, prompt_continuation=more)
            except EOFError:
                raise ExitRequested from None
            except KeyboardInterrupt:
                interrupted += 1
                if interrupted == self._interrupts:
                    raise ExitRequested from None
                self._say("Press Ctrl-C again, or Ctrl-D, to exit." if self._interrupts else "Press Ctrl-D to exit.")
                continue
            if self._joins_lines:
                text = text.replace(f"{_GOES_ON}\n", "\n")
            if text.strip():
                return text
            interrupted = 0

    def choose(self, question: str, choices: Sequence[Choice]) -> Word:
        """Ask a question with choices; anything but the key of one means no."""
        worded, prompt = word_choices(question, choices)
        self._say(worded)
        try:
            return read_choice(self._answers.prompt(prompt), choices)
        except EOFError:
            return None


def _bindings() -> KeyBindings:
    """Bind Enter: after a backslash at the end the text continues, otherwise it is complete."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith(_GOES_ON):
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    return bindings


class _FileHistory(History):
    """A history file, written at once; a line that ends with a backslash continues on the next."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """Return what was typed before, the newest first."""
        entries: list[str] = []
        with suppress(OSError):
            goes_on = False
            for line in self._file.read_text("utf-8", "replace").split("\n")[:-1][-MOST_KEPT:]:
                text = line.removesuffix(_GOES_ON)
                if goes_on:
                    entries[-1] += f"\n{text}"
                else:
                    entries.append(text)
                goes_on = text != line
        return reversed(entries)

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            make_private(self._file.parent)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{string.replace(chr(10), _GOES_ON + chr(10))}\n")
