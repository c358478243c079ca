"""Completion in real shells, at a pseudo-terminal: what stands on the line after TAB is pressed."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.availability import require_program
from tests.demo_pack import give_demo
from tests.e2e.raw_server import WAIT, environment_of
from tests.preloaded import preloaded_command, run_preloaded

SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}
SOURCES = {
    "bash": "source {file}",
    "zsh": "autoload -U compinit && compinit -u; source {file}",
    "fish": "source {file}",
}


class Shell:
    """A shell at a terminal of its own, with `onetool` on its PATH and completed."""

    def __init__(self, name: str, folder: Path) -> None:
        self._text = ""
        home = give_demo(folder / "home")
        programs = folder / "programs"
        programs.mkdir()
        onetool = programs / "onetool"
        onetool.write_text(f'#!/bin/sh\nexec {" ".join(preloaded_command("onetool"))} "$@"\n')
        onetool.chmod(0o755)
        script = folder / "completion"
        script.write_text(run_preloaded("completion", name, cwd=folder, env=environment_of(home)).stdout)
        (folder / "notes.txt").touch()
        pid, self._terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            env = environment_of(home) | {"TERM": "xterm", "PS1": "$ "}
            os.execvpe(SHELLS[name][0], SHELLS[name], env | {"PATH": f"{programs}:{env['PATH']}"})
        self._pid = pid
        self.type(f"{SOURCES[name].format(file=script)}; echo rea''dy\n")
        self.wait_for("ready\r\n")

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, text: str) -> str:
        """Wait until this stands on the screen behind all that was seen before; gives what came up to then."""
        deadline = time.monotonic() + WAIT
        while text not in self._text:
            assert time.monotonic() < deadline, f"{text!r} is not in {self._text!r}"
            if select.select([self._terminal], [], [], 0.2)[0]:
                data = os.read(self._terminal, 65536).decode(errors="replace")
                self._text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07", "", data)
        seen, _, self._text = self._text.partition(text)
        return seen + text

    def complete(self, line: str, wanted: str) -> None:
        """Type the beginning of a line, press TAB, and see the rest come; then take the line back."""
        self.type(f"{line}\t")
        self.wait_for(wanted)
        self.type("\x15")  # Ctrl-U

    def close(self) -> None:
        os.close(self._terminal)
        os.waitpid(self._pid, 0)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    require_program(request.param)
    opened = Shell(request.param, tmp_path)
    yield opened
    opened.close()


def test_a_shell_completes_commands_options_tools_and_files(shell: Shell) -> None:
    shell.complete("onetool doc", "onetool doctor ")
    shell.complete("onetool tools --j", "onetool tools --json ")
    shell.complete("onetool call demo.upp", "onetool call demo.upper ")
    shell.complete("onetool help demo.upp", "onetool help demo.upper ")
    shell.complete("onetool skills sh", "onetool skills show ")
    shell.complete("onetool stats --period we", "onetool stats --period week ")
    shell.complete("onetool --config not", "onetool --config notes.txt ")


class Typist:
    """Asks as a shell asks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = give_demo(folder / "home", "servers: {paper: {command: no-such-program}}\n")

    def candidates(self, *words: str) -> list[str]:
        env = environment_of(self.home)
        finished = run_preloaded("completion", "fish", "--", "onetool", *words, cwd=self.folder, env=env)
        assert (finished.returncode, finished.stderr) == (0, "")
        return [line.partition("\t")[0] for line in finished.stdout.splitlines()]


def test_what_is_offered_where(tmp_path: Path) -> None:
    typist = Typist(tmp_path)

    assert {"run", "doctor", "completion"} <= {*typist.candidates("")}
    assert typist.candidates("--ver") == ["--version"]
    assert {"demo.", "ot."} <= {*typist.candidates("call", "")}
    assert "demo.upper" in typist.candidates("call", "demo.")
    assert "--json" in typist.candidates("tools", "--")
    assert "demo" in typist.candidates("packs", "d")
    assert "demo.upper" in typist.candidates("tools", "demo.u")
    assert typist.candidates("accept", "") == ["paper"]
    assert typist.candidates("help", "serv") == ["serve", "servers"]
    assert typist.candidates("completion", "z") == ["zsh"]
    assert typist.candidates("--config", "x", "run", "--co") == ["--config"]
    assert typist.candidates("run", "x") == []


def test_names_are_remembered_until_something_changes(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    memory = typist.home / ".onetool" / "state" / "completion.json"
    assert typist.candidates("packs", "own") == []
    before = memory.stat().st_mtime_ns

    assert "demo.upper" in typist.candidates("call", "demo.u")
    known = json.loads(memory.read_text())
    tools = typist.home / ".onetool" / "tools" / "own"
    tools.mkdir(parents=True)
    (tools / "own_tools.py").write_text("def add(a: int) -> int:\n    'Add.'\n    return a + 1\n")

    assert [key for key in known if key.startswith("names ")] == [f"names {tmp_path}"]
    assert typist.candidates("packs", "own") == ["own"]
    assert memory.stat().st_mtime_ns > before


def test_a_configuration_that_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    (typist.home / ".onetool" / "onetool.yaml").write_text("polcy: 1\n")

    assert typist.candidates("call", "demo.") == []
    assert typist.candidates("doc") == ["doctor"]


def test_completing_loads_no_engine_once_it_is_remembered(tmp_path: Path) -> None:
    home = give_demo(tmp_path / "home")
    code = (
        "import sys\nfrom onetool.cli import main\n"
        "for words in (['call', 'demo.u'], ['tools', '--j'], ['doc']):\n"
        "    main(['completion', 'bash', '--', 'onetool', *words])\n"
        "print(*[name for name in ('pydantic', 'asyncio', 'ot.app', 'mcp') if name in sys.modules])\n"
    )

    def run() -> list[str]:
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment_of(home), capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    first, again = run(), run()

    assert first[:-1] == again[:-1]
    assert "demo.upper" in again
    assert again[-1] == ""
