"""A program in a terminal of its own: keys are typed, and what a person would see is read back, scrolled lines too."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROWS, COLUMNS = 24, 80
WAIT = 60.0  # seconds
LOADED = (
    "anthropic",
    *("onetool.cli.chat", "onetool.console.prompt", "onetool.chat.live_display", "rich.console"),
    *("onetool.cli.repl", "onetool.repl.console"),
    "ot.ai.tool_loop",
)
"""What programs at a terminal load, for those that are started preloaded."""

_TOKEN = re.compile(
    r"\x1b\[(\??[0-9;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[^\[\]]|([\r\n\b\x07])|([^\x1b\r\n\b\x07]+)", re.DOTALL
)


class Screen:
    """Enough of a terminal for what a calm program does: lines, and a region at the end that is drawn again."""

    def __init__(self) -> None:
        self.lines: list[str] = [""]
        self._row = self._column = 0
        self._rest = ""

    def feed(self, text: str) -> None:
        """Obey what the program sent; a sequence that is not complete yet waits for its end."""
        text = self._rest + text
        cut = text.rfind("\x1b", max(len(text) - 30, 0))
        complete = cut < 0 or _TOKEN.match(text, cut) is not None
        text, self._rest = (text, "") if complete else (text[:cut], text[cut:])
        for token in _TOKEN.finditer(text):
            numbers, command, control, words = token.groups()
            if command:
                self._command(numbers, command)
            elif control:
                self._control(control)
            elif words:
                self._write(words)

    def _command(self, numbers: str, command: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        line = self.lines[self._row]
        match command:
            case "A":
                self._row = max(self._row - count, 0)
            case "K":
                self.lines[self._row] = "" if numbers == "2" else line[: self._column]
            case "J":
                self.lines[self._row] = line[: self._column]
                del self.lines[self._row + 1 :]
            case "C":
                self._column += count
            case "D":
                self._column = max(self._column - count, 0)

    def _control(self, control: str) -> None:
        match control:
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(self._column - 1, 0)
            case "\n":
                self._row += 1
                if self._row == len(self.lines):
                    self.lines.append("")

    def _write(self, words: str) -> None:
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + words + line[self._column + len(words) :]
        self._column += len(words)

    @property
    def text(self) -> str:
        """Everything that was printed and not drawn over."""
        return "\n".join(line.rstrip() for line in self.lines)


class Terminal:
    """A running program and its screen."""

    def __init__(self, process: int, descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self.screen = Screen()
        self.sent = ""  # every byte of the program
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def type(self, keys: str) -> None:
        """Press keys; \\n is the return key, \\x03 is Ctrl-C."""
        os.write(self._descriptor, keys.encode())

    def wait_for(self, condition: Callable[[str], bool]) -> str:
        """Read until the screen is as it should be; gives its text."""
        end = time.monotonic() + WAIT
        while not condition(self.screen.text):
            assert time.monotonic() < end, f"it did not come to that:\n{self.screen.text}"
            assert self._read(), f"the program ended:\n{self.screen.text}"
        return self.screen.text

    def wait_for_prompt(self, count: int) -> str:
        """Until the program has asked so often for something to say."""
        return self.wait_for(lambda text: sum(line.startswith("›") for line in text.splitlines()) >= count)

    def wait_for_output(self) -> None:
        """Until the program has written something more."""
        before = len(self.sent)
        self.wait_for(lambda _: len(self.sent) > before)

    def wait_for_exit(self) -> int:
        """The program's exit status."""
        while self._read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _read(self) -> bool:
        if not select.select([self._descriptor], [], [], 0.2)[0]:
            return True
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # how Linux says that nobody is at the other end
            return False
        text = self._decoder.decode(data)
        self.sent += text
        self.screen.feed(text)
        return bool(data)


@contextmanager
def in_terminal(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Start a program; it is killed if the block leaves it running."""
    process, descriptor = pty.fork()
    if process == 0:
        os.chdir(cwd)
        os.execvpe(command[0], list(command), dict(env))
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        yield Terminal(process, descriptor)
    finally:
        try:
            os.kill(process, 9)
            os.waitpid(process, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(descriptor)
