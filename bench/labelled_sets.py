"""Labelled sets for tool search, data by others in a folder: tools, and queries whose right tools are known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

Tool = dict[str, Any]
Labels = dict[str, int]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Tools with a `key` each; for each query the keys that are right, with their grade."""

    name: str
    target: float  # nDCG@5
    tools: list[Tool]
    queries: list[tuple[str, Labels]]


def read_sets(folder: Path) -> Iterator[LabelledSet]:
    """Every set that lies in the folder."""
    golden = folder / "mcpproxy_golden"
    if golden.is_dir():
        yield _read_golden(golden)
    for number, (tasks, target) in enumerate([("", 0.68), ("_r2", 0.62), ("_r3", 0.59)], start=1):
        tools = folder / "bifrost" / f"round{number}.json"
        if tools.exists():
            yield _read_bifrost(tools, folder / "bifrost" / f"eval_tasks{tasks}.json", target)


def ndcg(ranked: list[str], labels: Labels, among: int = 5) -> float:
    """How good the first few of a ranking are: 1 is the best that these labels allow."""
    best = _gain(sorted(labels.values(), reverse=True)[:among])
    return _gain([labels.get(key, 0) for key in ranked[:among]]) / best if best else 0.0


def _gain(grades: list[int]) -> float:
    return sum(((1 << grade) - 1) / log2(place + 2) for place, grade in enumerate(grades))


def _read_golden(folder: Path) -> LabelledSet:
    tools = [
        {
            "key": tool["tool_id"],
            "pack": tool["server"],
            "name": tool["tool"],
            "description": tool["description"],
            "inputSchema": tool["schema"],
        }
        for tool in _read(folder / "corpus_v2.tools.json")["tools"]
    ]
    queries = [
        (query["query"], {label["tool_id"]: label["relevance"] for label in query["labels"]})
        for query in _read(folder / "retrieval_golden_v1.json")["queries"]
    ]
    return LabelledSet("mcpproxy_golden", 0.79, tools, queries)


def _read_bifrost(tools_file: Path, tasks_file: Path, target: float) -> LabelledSet:
    tools = [
        {"key": str(place), "pack": tool["server"], "name": tool["tool_name"], "description": tool["description"]}
        for place, tool in enumerate(_read(tools_file))
    ]
    labelled = [(task["query"], _labels(task, tools)) for task in _read(tasks_file)]
    return LabelledSet(f"bifrost {tools_file.stem}", target, tools, [(query, keys) for query, keys in labelled if keys])


def _labels(task: dict[str, Any], tools: list[Tool]) -> Labels:
    """A label is a name: the tools of that name on an expected server, else every tool of that name."""
    servers = {server.lower() for server in task["expected_servers"]}
    labels: Labels = {}
    for name in task["expected_tools"]:
        same = [tool for tool in tools if tool["name"].lower() == name.lower()]
        expected = [tool for tool in same if tool["pack"].lower() in servers]
        labels |= {tool["key"]: 1 for tool in expected or same}
    return labels


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
