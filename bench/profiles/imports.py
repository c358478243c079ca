"""The start by imports: which modules are loaded, ours and others', until the first answers, and what that takes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench.profiles.logged_imports import INTERPRETER
from bench.profiles.table import Cell, Table
from bench.servers import RUN, Servers, open_servers

ROOT = Path(__file__).parents[2]
MOST_ROWS = 25
_OURS = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
_LOGGED = ("-m", "bench.profiles.logged_imports")
_NOTE = "ms of processor time, of the modules themselves without what they import"


class Import(NamedTuple):
    """One module; times in nanoseconds."""

    name: str
    own: int
    whole: int
    ended: int

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


def profile_imports() -> Iterator[Table]:
    with open_servers({"PYTHONPATH": str(ROOT)}) as servers:
        serving, answers = _log_serve(servers)
        yield _by_package("onetool serve", serving, {"to initialize": answers[0], "to the first run": answers[1]})
        yield _by_module("onetool serve", [each for each in serving if each.ended <= answers[1]])
        running = _log_run(servers)
        yield _by_package("onetool run '1+1'", running, {})
        yield _by_module("onetool run '1+1'", running)


def _log_serve(servers: Servers) -> tuple[list[Import], tuple[int, int]]:
    """The second start of two, as most are; and when the first two requests were answered."""
    for number in range(2):
        log = servers.folder / f"serve{number}.log"
        with servers.start(*_LOGGED, str(log), "serve") as server:
            server.initialize()
            initialized = time.monotonic_ns()
            server.call(*RUN)
            answered = time.monotonic_ns()
    return _read(log), (initialized, answered)


def _log_run(servers: Servers) -> list[Import]:
    for number in range(2):
        log = servers.folder / f"run{number}.log"
        command = [sys.executable, *_LOGGED, str(log), "run", "1+1"]
        subprocess.run(command, env=servers.environment, cwd=servers.folder, check=True, capture_output=True)
    return _read(log)


def _read(log: Path) -> list[Import]:
    lines = (line.split("\t") for line in log.read_text().splitlines())
    return [Import(name, int(own), int(whole), int(ended)) for name, own, whole, ended in lines]


def _by_package(what: str, imports: list[Import], until: dict[str, int]) -> Table:
    """One row a package; `until` has the moments before which its modules are counted apart."""
    packages: dict[str, list[Import]] = defaultdict(list)
    for each in imports:
        packages[each.package].append(each)
    dearest = sorted(packages, key=lambda package: -_ms(packages[package]))
    others = [each for package in dearest[MOST_ROWS:] for each in packages[package]]
    shown = [(package, _kind(package), packages[package]) for package in dearest[:MOST_ROWS]]
    shown += [(f"{len(dearest) - MOST_ROWS} others", "", others)] if others else []
    rows: list[tuple[Cell, ...]] = [
        (name, whose, len(loaded), _ms(loaded), *_parts(loaded, until))
        for name, whose, loaded in (*shown, ("all", "", imports))
    ]
    return Table(f"imports of {what}, by package", ("package", "whose", "modules", "ms", *until), rows, _NOTE)


def _by_module(what: str, imports: list[Import]) -> Table:
    dearest = sorted(imports, key=lambda each: -each.own)[:MOST_ROWS]
    rows = [(each.name, _kind(each.package), _ms([each]), each.whole / 1e6) for each in dearest]
    return Table(
        f"imports of {what} until its first answer, the dearest modules",
        ("module", "whose", "ms", "with its imports"),
        rows,
    )


def _parts(imports: list[Import], until: dict[str, int]) -> list[float]:
    return [_ms(each for each in imports if each.ended <= moment) for moment in until.values()]


def _ms(imports: Iterable[Import]) -> float:
    return sum(each.own for each in imports) / 1e6


def _kind(package: str) -> str:
    if package == INTERPRETER or package in sys.stdlib_module_names:
        return "Python"
    return "ours" if package in _OURS else "library"
