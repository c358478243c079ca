"""Tool search: how often the right tools come first on labelled sets, and how long a query takes.

The sets are data by others and lie in the folder that TOOL_SEARCH_SETS names.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, quantiles

from bench.labelled_sets import LabelledSet, Tool, ndcg, read_sets
from bench.report import Line
from bench.servers import Servers
from ot.registry.ranking.index import ToolIndex
from ot.registry.ranking.thesaurus import SYNONYMS

FOLDER = "TOOL_SEARCH_SETS"


def measure(_: Servers) -> Iterator[Line]:
    folder = os.environ.get(FOLDER, "")
    sets = list(read_sets(Path(folder))) if folder else []
    for labelled in sets:
        yield Line(f"search nDCG@5, {labelled.name}", score(labelled), None, "", labelled.target, lower_is_better=False)
    if not sets:
        print(f"no labelled sets for tool search in {folder!r}: set {FOLDER} to a folder that has some")
    for count, target in ((500, 5.0), (15_000, 30.0)):
        usual, slow = time_queries(count)
        yield Line(f"search among {count:,} tools, the usual query", usual, None, "ms", target)
        yield Line(f"search among {count:,} tools, one query in twenty", slow, None, "ms", target)


def score(labelled: LabelledSet) -> float:
    """The mean over all queries, each ranked among all tools of its set."""
    index = ToolIndex.of_tools(labelled.tools)
    return mean(ndcg([hit.key for hit in index.rank(query, limit=5)], keys) for query, keys in labelled.queries)


def time_queries(count: int) -> tuple[float, float]:
    """Milliseconds that half of all queries stay below, and 19 of 20."""
    chance = random.Random(count)
    index = ToolIndex.of_tools([_invent_tool(chance, number) for number in range(count)])
    for _ in range(100):  # an index remembers what words mean to it
        index.rank(_invent_text(chance, 30), limit=20)
    times = []
    for _ in range(100):
        query = _invent_text(chance, 30)
        started = time.perf_counter()
        index.rank(query, limit=20)
        times.append((time.perf_counter() - started) * 1000)
    return median(times), quantiles(times, n=20)[-1]


def _invent_tool(chance: random.Random, number: int) -> Tool:
    properties = {_invent_text(chance, 1): {"description": _invent_text(chance, 6)} for _ in range(3)}
    return {
        "key": str(number),
        "pack": f"pack{number // 40}",
        "name": _invent_text(chance, 3).replace(" ", "_"),
        "description": _invent_text(chance, 25),
        "inputSchema": {"properties": properties},
    }


def _invent_text(chance: random.Random, length: int) -> str:
    """Words of the kind that tools are described with: some are everywhere, as many again nearly nowhere."""
    common = sorted(SYNONYMS)
    usual = [common[int(len(common) * chance.random() ** 2)] for _ in range(length)]
    return " ".join(word if chance.random() < 0.6 else _invent_word(chance) for word in usual)


def _invent_word(chance: random.Random) -> str:
    """One of some thousand words."""
    return "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(chance.choice((2, 2, 2, 3))))
