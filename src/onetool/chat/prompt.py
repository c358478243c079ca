"""What a person types: with history, several lines, and a way out."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from onetool.chat.clean_text import clean
from onetool.chat.heard_interrupts import interrupts_heard

HISTORY = "chat_history"
MOST_KEPT = 1000  # lines
_PROMPT = "\001\033[1;36m\002› \001\033[0m\002"  # \001 and \002 tell readline what takes no room
_MORE = "\001\033[36m\002… \001\033[0m\002"
_CONFIRM = "Allow it? [y/N] "


class Leaving(Exception):  # noqa: N818 - a wish, not an error
    """The person wants to end the conversation."""


class Prompt:
    """Asks for one thing at a time. The history is a file that only its owner can read."""

    def __init__(self, state: Path, *, say: Callable[[str], None]) -> None:
        self._file = state / HISTORY
        self._say = say
        self._readline = _load_readline(self._file)

    def ask(self) -> str:
        """The next thing that the person says; raises Leaving at the end of the input, or at the second Ctrl-C."""
        interrupted = False
        while True:
            try:
                text = self._read()
            except EOFError:
                self._say("")
                raise Leaving from None
            except KeyboardInterrupt:
                self._say("")
                if interrupted:
                    raise Leaving from None
                interrupted = True
                self._say("Ctrl-C again, or Ctrl-D, to leave.")
                continue
            if text.strip():
                self._remember(text)
                return text
            interrupted = False

    def confirm(self, question: str) -> bool:
        """A plain yes or no; anything else is no."""
        self._say(clean(question))
        try:
            return _input(_CONFIRM, plain=_CONFIRM).strip().lower() in ("y", "yes")
        except EOFError:
            self._say("")
            return False
        except KeyboardInterrupt:
            self._say("")
            raise

    def _read(self) -> str:
        lines = [_input(_PROMPT)]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1].removesuffix("\\")
            lines.append(_input(_MORE))
        return "\n".join(lines)

    def _remember(self, text: str) -> None:
        """Write at once: the history survives a window that is closed."""
        if self._readline is None:
            return
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if not self._file.exists():
                os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))
                self._readline.write_history_file(str(self._file))
            else:
                self._readline.append_history_file(text.count("\n") + 1, str(self._file))


def _input(prompt: str, *, plain: str = "> ") -> str:
    with interrupts_heard():
        if sys.stdout.isatty():
            return input(prompt)
        sys.stderr.write(plain)  # stdout is for answers
        sys.stderr.flush()
        return input()


def _load_readline(history: Path) -> ModuleType | None:
    """Line editing and history; a Python that was built without it still reads lines."""
    if importlib.util.find_spec("readline") is None:
        return None
    readline = importlib.import_module("readline")
    readline.set_history_length(MOST_KEPT)
    with contextlib.suppress(OSError):
        readline.read_history_file(str(history))
    return readline
