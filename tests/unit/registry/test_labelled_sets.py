"""The scoring of tool search: labels are read as their authors meant them, and a perfect ranking has the score 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.bench_search import ask_all, score
from bench.labelled_sets import ndcg, read_sets


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [(["a", "b"], 1.0), (["b", "a"], 0.797), (["x", "a"], 0.521), (["x", "y", "z", "v", "w", "a"], 0.0), ([], 0.0)],
)
def test_what_is_more_right_counts_more_where_it_comes_first(ranked: list[str], expected: float) -> None:
    assert ndcg(ranked, {"a": 2, "b": 1}) == pytest.approx(expected, abs=0.001)


@pytest.mark.anyio
async def test_a_label_is_a_name_on_an_expected_server_or_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "bifrost"
    folder.mkdir()
    tools = [
        {"server": "Files", "tool_name": "READ", "description": "Read a file."},
        {"server": "Mail", "tool_name": "read", "description": "Read a mail."},
        {"server": "Mail", "tool_name": "send", "description": "Send a mail."},
    ]
    tasks = [
        {"query": "read a mail", "expected_servers": ["mail"], "expected_tools": ["Read"]},
        {"query": "read anything", "expected_servers": ["elsewhere"], "expected_tools": ["read"]},
        {"query": "fly", "expected_servers": ["Mail"], "expected_tools": ["fly"]},
    ]
    (folder / "round1.json").write_text(json.dumps(tools))
    (folder / "eval_tasks.json").write_text(json.dumps(tasks))

    [labelled] = read_sets(tmp_path)

    assert labelled.queries == [("read a mail", {"1": 1}), ("read anything", {"0": 1, "1": 1})]
    assert score(labelled, await ask_all(labelled)) == pytest.approx(1.0)


def test_a_folder_without_sets_has_none(tmp_path: Path) -> None:
    assert list(read_sets(tmp_path / "nowhere")) == []
