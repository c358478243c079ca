"""A search with ripgrep over 10,000 files, against the bare program."""

from __future__ import annotations

import random
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.report import Line
from bench.servers import Servers, open_servers, run, warm_up

FILES = 10_000
LINES = 200  # of each file
QUERY = r"needle\d+ in"
CODE = f"ripgrep.search(query=r'{QUERY}', path='tree', limit=1000)['total']"
ROUNDS = 15


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as servers:
        tree = servers.folder / "tree"
        expected = write_tree(tree)
        with servers.start_ours() as server:
            warm_up(server, run(f"assert {CODE} == {expected}"))
            ours, bare = zip(*((server.call(*run(CODE)) * 1e3, _bare(tree)) for _ in range(ROUNDS)), strict=True)
    yield Line(f"ripgrep.search in {FILES:,} files", median(ours), median(bare), "ms", 1.5)


def write_tree(folder: Path) -> int:
    """Write files of invented words, and return how many lines match."""
    chance = random.Random(FILES)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 10))) for _ in range(2000)]
    for number in range(FILES):
        file = folder / f"{number % 100}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(chance.choices(words, k=8)) for _ in range(LINES)]
        if number % 50 == 0:
            lines[100] = f"a needle{number} in a haystack"
        file.write_text("\n".join(lines))
    return FILES // 50


def _bare(tree: Path) -> float:
    program = Path(sysconfig.get_path("scripts")) / "rg"
    start = time.perf_counter()
    subprocess.run([program, "--json", QUERY, tree], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3
