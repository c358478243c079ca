"""Tool search: how often `ot.help` puts the right tools first on labelled sets, and how long a query takes.

Plain requests are in bench/requests. The sets are data by others and lie in the folder that TOOL_SEARCH_SETS names.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import anyio

from bench.invented_tools import invent_text, invent_tool
from bench.labelled_sets import LabelledSet, Tool, ndcg, read_sets
from bench.plain_requests import find_first, known_tools, missed, read_requests
from bench.report import Line
from bench.servers import Servers
from ot.config.models import Config
from ot.introspect.help import Catalogue, Help
from ot.registry.from_schema import define_pack
from ot.registry.ranking.index import ToolIndex
from ot.registry.registry import ToolRegistry

FOLDER = "TOOL_SEARCH_SETS"


def measure(_: Servers) -> Iterator[Line]:
    registry = known_tools()
    for name in ("requests", "held_out"):
        requests = read_requests(name)
        wrong = missed(requests, anyio.run(find_first, requests, registry))
        share = 100 * (1 - len(wrong) / len(requests))
        yield Line(f"search, right tool among the first three, {name}", share, None, "%", 95.0, lower_is_better=False)
    folder = os.environ.get(FOLDER, "")
    sets = list(read_sets(Path(folder))) if folder else []
    for labelled in sets:
        answers = anyio.run(ask_all, labelled)
        yield Line(
            f"search nDCG@5, {labelled.name}",
            score(labelled, answers),
            None,
            "",
            labelled.target,
            lower_is_better=False,
        )
        unanswered = 100 * mean(not names for names in answers)
        yield Line(f"search answered with nothing, {labelled.name}", unanswered, None, "%", 2.0)
    if not sets:
        print(f"no labelled sets for tool search in {folder!r}: set {FOLDER} to a folder that has some")
    for count, target in ((500, 5.0), (15_000, 30.0)):
        usual, slow = time_queries(count)
        yield Line(f"search among {count:,} tools, the usual query", usual, None, "ms", target)
        yield Line(f"search among {count:,} tools, one query in twenty", slow, None, "ms", target)


async def ask_all(labelled: LabelledSet) -> list[list[str]]:
    """Ask for each query as a model would, and read the tools out of the text of the answer: by key, best first."""
    registry, config, keys = ToolRegistry(), Config(), dict[str, str]()
    for number, (server, tools) in enumerate(groupby(sorted(labelled.tools, key=_server), key=_server)):
        listed = list(tools)
        pack = define_pack(server, re.sub(r"\W", "_", server if server[0].isalpha() else f"p{number}"), listed)
        registry.register_pack(pack, dict.fromkeys(pack.tools, _never_called))
        by_name = {tool["name"]: tool["key"] for tool in reversed(listed)}
        keys |= {tool.name: by_name[tool.original or tool.tool] for tool in pack.tools.values()}
    catalogue = Catalogue(registry.definitions(), registry.packs(), config)
    answers = Help(registry, config, catalogue, lambda _: ("", {}), lambda tool: tool.python_signature)
    texts = [await answers.answer([query], "min") for query, _ in labelled.queries]
    return [[keys[name] for name in re.findall(r"^- ([\w.]+):", text, re.MULTILINE) if name in keys] for text in texts]


def score(labelled: LabelledSet, answers: list[list[str]]) -> float:
    """The mean over all queries, each answered out of all tools of its set."""
    return mean(ndcg(names, labels) for names, (_, labels) in zip(answers, labelled.queries, strict=True))


def _server(tool: Tool) -> str:
    return str(tool["pack"])


async def _never_called(_: dict[str, Any]) -> None:
    raise AssertionError


def time_queries(count: int) -> tuple[float, float]:
    """Milliseconds that half of all queries stay below, and 19 of 20."""
    chance = random.Random(count)
    index = ToolIndex.of_tools([invent_tool(chance, number) for number in range(count)])
    for _ in range(100):  # an index remembers what words mean to it
        index.rank(invent_text(chance, 30), limit=20)
    times = []
    for _ in range(100):
        query = invent_text(chance, 30)
        started = time.perf_counter()
        index.rank(query, limit=20)
        times.append((time.perf_counter() - started) * 1000)
    return median(times), quantiles(times, n=20)[-1]
