"""The prompt of the repl: Python in colour, several lines, and Tab. Importing this loads prompt_toolkit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.completion import Completion as Shown
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from onetool.console.clean_text import one_line
from onetool.console.prompt import Prompt
from onetool.repl.completion import Completion
from onetool.repl.whole_code import indentation_after, is_whole

HISTORY = "repl_history"
_SHOWN = 60  # characters of a completion in a list
_INDENT = "    "


def open_prompt(state: Path, *, say: Callable[[str], None], complete: Callable[[str], list[Completion]]) -> Prompt:
    """Return a prompt for code; its history is a file that only its owner can read."""
    return Prompt(
        state,
        say=say,
        history=HISTORY,
        keys=_bindings(),
        completer=_CodeCompleter(complete),
        lexer=PygmentsLexer.from_filename("run.py"),
        interrupts=0,
    )


class _CodeCompleter(Completer):
    """Completes code from definitions, for prompt_toolkit."""

    def __init__(self, complete: Callable[[str], list[Completion]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Shown]:
        """Yield what may stand at the cursor."""
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

    @bindings.add("tab", filter=Condition(_in_margin))
    def _indent(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(_INDENT)

    return bindings


def _in_margin() -> bool:
    """True before the first word of a further line."""
    document = get_app().current_buffer.document
    return document.cursor_position_row > 0 and not document.current_line_before_cursor.strip()
