"""`onetool repl`, as a person uses it: in a real terminal."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.demo_pack import with_demo
from tests.models.terminal import LOADED, Terminal, in_terminal
from tests.preloaded import preloaded_command, run_preloaded
from tests.proxied import program

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")
EXAMPLES = [
    (re.sub(r"\n… {0,5}", "\r", typed), answer)
    for typed, answer in re.findall(
        r"^› ([^\n]*(?:\n…[^\n]*)*)\n(.*?)(?=^› |\Z)",
        re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0],
        re.MULTILINE | re.DOTALL,
    )
]

pytestmark = pytest.mark.xdist_group("models")  # which has a terminal's libraries loaded


class Repl:
    """A repl in a terminal; each input waits for the next prompt."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._prompts = 1

    def prompt(self) -> str:
        """Wait for one more prompt."""
        self._prompts += 1
        return self.terminal.wait_for_prompt(self._prompts)

    def press_until(self, keys: str, condition: Callable[[str], bool]) -> None:
        """Press keys again and again, each time after the program has drawn something."""
        while not condition(self.terminal.screen.text):
            self.terminal.type(keys)
            self.terminal.wait_for_output()

    def run(self, keys: str) -> str:
        """Type code; the lines between it and the next prompt."""
        before = self.terminal.screen.text.rstrip("› \n")
        self.terminal.type(f"{keys}\r")
        shown = self.prompt()[len(before) :]
        return "\n".join(line for line in shown.strip().splitlines()[1:-1] if not line.startswith("…"))


@contextmanager
def repl(folder: Path, config: dict[str, Any] | None = None, *, preloaded: bool = True) -> Iterator[Repl]:
    (folder / ".onetool").mkdir(exist_ok=True)
    (folder / ".onetool/onetool.yaml").write_text(with_demo(json.dumps({"stats": {}, **(config or {})})))
    command = [sys.executable, "-m", "onetool", "repl"]
    if preloaded:
        command = preloaded_command("onetool", "repl", also=LOADED)
    with in_terminal(command, cwd=folder, env=environment(folder)) as terminal:
        terminal.wait_for_prompt(1)
        yield Repl(terminal)


def environment(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}


def test_code_is_run_piece_by_piece_and_the_last_value_stays(tmp_path: Path) -> None:
    with repl(tmp_path) as person:
        assert "Each input is its own run" in person.terminal.screen.text
        for keys, answer in EXAMPLES:
            assert re.fullmatch(".*".join(map(re.escape, answer.strip().split("…"))), person.run(keys))
        assert person.run("x = 6 * 7; {'answer': x, 'words': ['a']}") == "{answer: 42, words: [a]}"
        assert person.run("_['answer'] + 1") == "43"
        assert person.run("print(_)") == "43"
        assert person.run("[_ + 1] * 100_000").startswith("{handle: ")
        assert person.run("len(_)") == "100000"
        assert person.run("1 / 0") == "ZeroDivisionError: division by zero\n  line 1: 1 / 0"
        assert person.run("_ + 1") == "100001"
        assert "NameError: name 'x' is not defined" in person.run("x")
        assert "1. ot.keep" in person.run(":preview ot.keep(name='x', value=1)")
        assert person.run("for n in range(2):\rdemo.upper(text='ab' * n)\r") == "Done: no value returned."
        assert person.run("chr(27) + '[2J'") == "⟨U+001B⟩[2J"
        person.terminal.type("exit()\r")
        assert person.terminal.wait_for_exit() == 0

    assert "\x1b[36m" in person.terminal.sent  # a key, in colour
    assert "\x1b[31m" in person.terminal.sent  # an error


def test_tab_completes_also_what_a_server_brings_later(tmp_path: Path) -> None:
    with repl(tmp_path, {"servers": {"plain": program("plain_server")}}) as person:
        person.terminal.type("demo.upp\t")
        person.terminal.wait_for(lambda text: text.endswith("› demo.upper("))
        person.terminal.type("\t'hello')\r")
        assert "HELLO" in person.prompt()
        person.terminal.type("plain.ec")
        # The server is still starting. On a busy machine, one more key than needed is pressed before the name is drawn.
        person.press_until("\t \b", lambda text: text.endswith(("plain.echo(", "plain.echo(text=")))
        person.terminal.type("\t'hi')\r")
        person.terminal.wait_for(lambda text: "\nhi\n" in text)  # a list of names may be drawn with another prompt
        person.terminal.type("file.\t\t")
        person.terminal.wait_for(lambda text: re.search(r"edit_lines .*\n", text) is not None)


def test_ctrl_c_stops_code_and_a_question_and_never_the_repl(tmp_path: Path) -> None:
    late = tmp_path / "late"
    with repl(tmp_path, {"policy": {"ask": ["demo.upper"]}}, preloaded=False) as person:
        terminal = person.terminal
        terminal.type(f"demo.block(seconds=60, path={str(late)!r})\r")
        terminal.wait_for(lambda text: re.search(r"demo\.block  \d+ ms$", text) is not None)
        terminal.type("\x03")
        assert "Stopped." in person.prompt()
        for _ in range(3):
            terminal.type("half a thought\x03")
            assert "Press Ctrl-D to exit." in person.prompt()
        terminal.type("demo.upper(text='hello')\r")
        terminal.wait_for(lambda text: "Allow it? [y/r/c/N]" in text)
        terminal.type("\x03")
        person.prompt()
        terminal.type("demo.upper(text='hello')\r")
        terminal.wait_for(lambda text: text.count("Allow it? [y/r/c/N]") == 2)
        terminal.type("y\r")
        assert person.prompt().splitlines()[-2] == "HELLO"
        terminal.type("if 1:\r2\r\r")
        person.prompt()
        terminal.type("\x04")
        assert terminal.wait_for_exit() == 0
    with repl(tmp_path) as again:
        again.terminal.type("\x1b[A")
        again.terminal.wait_for(lambda text: text.endswith("› if 1:\n…     2\n…"))

    assert not late.exists()
    history = tmp_path / ".onetool/state/repl_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "half a thought" not in history.read_text()


def test_without_a_terminal_it_names_the_command_that_needs_none(tmp_path: Path) -> None:
    done = run_preloaded("repl", cwd=tmp_path, env=environment(tmp_path), stdin="1 + 1\n", also=LOADED)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "onetool repl: this is not a terminal; use onetool run - to run code from stdin\n"
