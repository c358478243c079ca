"""code.search among 10,000 files: a run that searches, less one that returns None."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

from bench.report import Line
from bench.servers import RUN, Servers, open_servers, run, warm_up
from bench.stdio_client import StdioClient

FILES = 10_000
REPEATS = 60
TARGET = 20  # ms


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as own, own.start_ours() as server:
        chance = random.Random(1)
        words = [_invent_word(chance) for _ in range(6000)]
        _write_files(own.folder / "source", chance, words)
        warm_up(server, RUN)
        started = time.perf_counter()
        server.call(*_search("anything"))
        yield Line(f"code.search indexes {FILES:,} files", time.perf_counter() - started, None, "s", 60)
        times = [_more_than_none(server, _invent_query(chance, words)) for _ in range(REPEATS)]
        yield Line(f"code.search among {FILES:,} files, the usual query", median(times), None, "ms", TARGET)
        yield Line(f"code.search among {FILES:,} files, one in twenty", quantiles(times, n=20)[-1], None, "ms", TARGET)
        times = []
        for number in range(10):
            (own.folder / "source" / "changed.py").write_text(f"changed = {number}\n")
            times.append(_more_than_none(server, _invent_query(chance, words)))
        yield Line(f"code.search among {FILES:,} files, one has changed", median(times), None, "ms", 20 * TARGET)


def _search(query: str) -> tuple[str, dict[str, str]]:
    return run(f"code.search(query={query!r})['total']")


def _more_than_none(server: StdioClient, query: str) -> float:
    """Milliseconds; both runs begin when the server is at rest."""
    time.sleep(0.05)
    searching = server.call(*_search(query))
    time.sleep(0.05)
    return (searching - server.call(*run("None"))) * 1e3


def _write_files(folder: Path, chance: random.Random, words: list[str]) -> None:
    for number in range(FILES):
        place = (
            folder
            / f"package{number // 500}"
            / f"part{number // 25 % 20}"
            / f"{_invent_name(chance, words)}{number}.py"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        names = [_invent_name(chance, words) for _ in range(60)]
        place.write_text(
            "".join(f"def {name}(value):\n    return {other}(value)\n\n" for name, other in pairwise(names))
        )


def _invent_query(chance: random.Random, words: list[str]) -> str:
    return " ".join(_invent_name(chance, words) for _ in range(chance.choice((1, 1, 2, 3))))


def _invent_name(chance: random.Random, words: list[str]) -> str:
    """Write one to three words as an identifier; some words are everywhere, most nearly nowhere."""
    parts = [words[int(len(words) * chance.random() ** 3)] for _ in range(chance.choice((1, 2, 2, 3)))]
    return "_".join(parts) if chance.random() < 0.5 else parts[0] + "".join(part.title() for part in parts[1:])


def _invent_word(chance: random.Random) -> str:
    return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(chance.choice((2, 3, 3))))
