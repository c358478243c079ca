"""Measures everything that the report compares: `make bench PEERS=1` prints it, and writes a JSON file and a page."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.figures import Part, Results, Session, Table, write_results
from bench.page import render_page
from bench.terminal import Terminal
from mcp_core.distribution import DISTRIBUTION

KEPT = Path(__file__).with_name("kept_results.json")
"""The run that `docs/benchmarks.md` shows."""
RESULTS = Path(__file__).with_name("results")
# Modules that have `measure_parts(session)`, in the order of the report.
PARTS = ("bench.peers.parts", "bench.floors", "bench.tasks.parts", "bench.scale")
FEWEST_ROUNDS = 5


def main(wanted: list[str]) -> None:
    """Measure the parts of all modules, or of those that are named."""
    now = datetime.now(UTC)
    parts: list[Part] = []
    with Terminal() as terminal:
        session = Session(int(os.environ.get("ROUNDS") or FEWEST_ROUNDS), terminal.tell)
        for part in measure_all(session, tuple(wanted) or PARTS):
            terminal.show(part)
            parts.append(part)
    results = Results(f"{now:%Y-%m-%d %H:%M} UTC", describe_machine(), _versions(), session.rounds, tuple(parts))
    file = RESULTS / f"{now:%Y-%m-%d-%H%M%S}.json"
    write_results(results, file)
    page = file.with_suffix(".html")
    page.write_text(render_page(results), encoding="utf-8")
    terminal.say(f"\nfigures: {file}\npage: {page}")
    terminal.say(
        f"docs/benchmarks.md shows what is kept: cp {os.path.relpath(file)} {os.path.relpath(KEPT)} && make docs"
    )


def measure_all(session: Session, names: tuple[str, ...]) -> Iterator[Part]:
    """Measure modules one after another; what fails is said in the place of its part."""
    for name in names:
        try:
            yield from importlib.import_module(name).measure_parts(session)
        except Exception as error:  # noqa: BLE001 - one part that fails must not cost the figures of the others
            yield Table(f"{name} failed", (), (), about=_word_error(error))


def _word_error(error: BaseException) -> str:
    """Say what went wrong; of a group, what went wrong in each of its parts."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_word_error, error.exceptions))
    return f"{type(error).__name__}: {error}"


def describe_machine() -> str:
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {kernel}"


def _versions() -> dict[str, str]:
    return {"OneTool": version(DISTRIBUTION), "mcp": version("mcp"), "Python": platform.python_version()}


if __name__ == "__main__":
    main(sys.argv[1:])
