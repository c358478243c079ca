"""The prompt of `onetool chat` in a real terminal: Ctrl-C, several lines, and a history that survives."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.models.terminal import Terminal, in_terminal

TIMES = 5
PROGRAM = """
from pathlib import Path
from onetool.console.engine_events import ExitRequested
from onetool.console.prompt import Prompt

prompt = Prompt(Path("state"), say=lambda text: print(text, flush=True))
for number in range(20):
    try:
        text = prompt.ask()
    except ExitRequested:
        print(f"left {number}.", flush=True)
    else:
        print(f"heard {number}: {text!r}", flush=True)
        if text == "end":
            break
"""


@contextmanager
def prompt(folder: Path, *, term: str = "xterm") -> Iterator[Terminal]:
    environment = {"TERM": term, "HOME": str(folder), "LANG": "C.UTF-8"}
    with in_terminal([sys.executable, "-c", PROGRAM], cwd=folder, env=environment) as terminal:
        terminal.wait_for_prompt(1)
        yield terminal


def test_ctrl_c_is_heard_while_a_key_is_being_shown(tmp_path: Path) -> None:
    with prompt(tmp_path) as terminal:
        for number in range(TIMES):
            _while_it_is_held(terminal, "k\x03")
            terminal.wait_for_prompt(2 * number + 2)
            _while_it_is_held(terminal, "k\x03")
            terminal.wait_for_prompt(2 * number + 3)
        terminal.type("end\n")

        assert terminal.wait_for_exit() == 0

    shown = terminal.screen.text
    assert shown.count("Press Ctrl-C again, or Ctrl-D, to exit.") == TIMES
    assert all(f"left {number}." in shown for number in range(TIMES))


def _while_it_is_held(terminal: Terminal, keys: str) -> None:
    """Press keys so that the program finds them all at once, whatever it was doing."""
    os.kill(terminal.process, signal.SIGSTOP)
    terminal.type(keys)
    os.kill(terminal.process, signal.SIGCONT)


def test_several_lines_are_one_question_and_come_back_as_one_in_the_next_session(tmp_path: Path) -> None:
    with prompt(tmp_path) as terminal:
        terminal.type("first \\\n")
        terminal.wait_for(lambda text: "\n…" in text)
        terminal.type("second\n")
        terminal.wait_for(lambda text: r"heard 0: 'first \nsecond'" in text)
        terminal.type("end\n")
        terminal.wait_for_exit()
    with prompt(tmp_path) as terminal:
        terminal.type("\x1b[A\x1b[A\n")  # the entry before the last one
        terminal.wait_for(lambda text: r"heard 0: 'first \nsecond'" in text)


def test_what_is_pasted_is_one_question(tmp_path: Path) -> None:
    with prompt(tmp_path) as terminal:
        terminal.type("\x1b[200~def f():\r\n    pass\r\n\x1b[201~\n")

        terminal.wait_for(lambda text: r"heard 0: 'def f():\n    pass\n'" in text)


@pytest.mark.parametrize("term", ["dumb", "linux", "no-such-terminal"])
def test_any_terminal_will_do(tmp_path: Path, term: str) -> None:
    with prompt(tmp_path, term=term) as terminal:
        terminal.type("hello\n")

        terminal.wait_for(lambda text: "heard 0: 'hello'" in text)


def test_a_prompt_that_is_not_installed_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    (tmp_path / ".onetool").mkdir()
    (tmp_path / ".onetool/onetool.yaml").write_text("ai: {provider: ollama}\n")
    code = "import sys; sys.modules['prompt_toolkit'] = None; from onetool.cli import main; sys.exit(main(['chat']))"
    environment = {"TERM": "xterm", "HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    with in_terminal([sys.executable, "-c", code], cwd=tmp_path, env=environment) as terminal:
        status = terminal.wait_for_exit()

    assert "onetool chat: ollama needs a library that is not installed: " in terminal.screen.text
    assert "pip install" in terminal.screen.text
    assert "[ollama]" in terminal.screen.text
    assert status == 1
