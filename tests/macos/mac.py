"""A Mac as far as Linux can play one: its interpreter (`tree`), and the system below it (`restricted_start.py`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from ot.kernel.zygote_process import COMPILED
from ot_wasm.component import find_or_compile
from tests.measured import MEASURED
from tests.read_packs import give_definitions

_START = Path(__file__).parents[1] / "programs" / "restricted_start.py"
_WAIT = 120.0  # seconds: a bound for a machine that is busy


class Mac:
    """Programs of a played Mac, for a person whose home is the folder that each is given."""

    def __init__(self, python: Path) -> None:
        self.python = python
        self._compiled = python.parent.parent / "compiled"

    def give_component(self) -> None:
        """Give it what is compiled for Linux under the name that it looks for, since the processor is the same."""
        found = Path(find_or_compile(os.environ[COMPILED], lambda: None))
        self._compiled.mkdir(0o700)
        look = "from ot_wasm import component; print(component._name_processor(), end='')"
        here = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
        there = self.run("python", "-c", look, home=self._compiled.parent).stdout
        shutil.copy(found, self._compiled / found.name.replace(here, there, 1))

    def command(self, *arguments: str) -> list[str]:
        """`onetool ...`, or the interpreter if the first argument is "python"."""
        program = self.python if arguments[0] == "python" else self.python.with_name("onetool")
        rest = arguments[1:] if arguments[0] == "python" else arguments
        return [sys.executable, str(_START), "macos", str(program), *rest]

    def surroundings(self, home: Path) -> dict[str, str]:
        """The environment of a program, with a temporary folder as deep as those of macOS."""
        temporary = home / "var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T"
        temporary.mkdir(parents=True, exist_ok=True)
        path = f"{self.python.parent}:{os.environ['PATH']}"
        given = {COMPILED: str(self._compiled), **MEASURED}
        return {"HOME": str(home), "PATH": path, "TMPDIR": f"{temporary}/", **given}

    def run(self, *arguments: str, home: Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, in the person's home unless another folder is named."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=cwd or home,
            env=self.surroundings(home),
            check=False,
            timeout=_WAIT,
        )

    def connect(self, home: Path, *arguments: str) -> Client:
        """The official client of a server over stdio; use it with `async with`."""
        command, *rest = self.command("serve", *arguments)
        return Client(StdioServerParameters(command=command, args=rest, env=self.surroundings(home), cwd=home))


def configure(home: Path, config: str) -> Path:
    """Write a person's own configuration; gives their home."""
    (home / ".onetool").mkdir(parents=True, exist_ok=True)
    (home / ".onetool" / "onetool.yaml").write_text(config)
    give_definitions(home)
    return home
