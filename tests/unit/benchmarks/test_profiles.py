"""Profiles, of as little as they can be made of: that they work, not what they measure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.profiles.hot_path import profile_hot_path
from bench.profiles.imports import profile_imports
from bench.profiles.paths import profile_paths
from bench.profiles.processor_time import profile_processor_time
from bench.profiles.table import Table


def test_a_table_is_aligned_for_a_terminal_and_keyed_as_json() -> None:
    table = Table("imports", ("module", "ms"), [("json", 1.25), ("mcp_types", 1234.5)], "of processor time")

    assert table.as_text() == "imports\n  module        ms\n  json        1.25\n  mcp_types  1,234\nof processor time"
    assert table.as_json()["rows"] == [{"module": "json", "ms": 1.25}, {"module": "mcp_types", "ms": 1234.5}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("tables", "first_cells"),
    [
        (profile_imports(), {"(interpreter)", "anyio", "ot", "all"}),
        (profile_hot_path(runs=4, calls=2), {"ot.kernel", "ot.run", "ot.execution"}),
        (profile_paths(rounds=1), {"a run of 1+1", "one more proxied call", "ot/run/runner.py"}),
        (profile_processor_time(rounds=1, runs=4, in_flight=(2,)), {"1+1 over stdio", "echo of the bare server"}),
    ],
    ids=["imports", "hot_path", "paths", "processor_time"],
)
def test_a_profile_has_a_row_for_whatever_takes_time(tables: Iterator[Table], first_cells: set[str]) -> None:
    assert first_cells <= {row[0] for table in tables for row in table.rows}
