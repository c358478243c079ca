"""The engine that tests run code on: with `pytest --engine wasm`, those of this process use the component."""

from __future__ import annotations

import pytest

from ot.config.models import ExecutionSettings
from ot_wasm.component import is_stale


def add_engine_option(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=("auto", "wasm"), default="auto", help="the engine that code runs on")


def use_engine(config: pytest.Config) -> None:
    """Make it the default of every configuration that names none."""
    engine = config.getoption("--engine")
    if engine == "wasm" and is_stale():
        raise pytest.UsageError("the component of the engine wasm is missing or stale: make wasm")
    ExecutionSettings.settings["engine"].default = engine


def skip_other_engine(config: pytest.Config, item: pytest.Item) -> None:
    """Skip what is true of processes only; the marker `only_as_process` says why."""
    marker = item.get_closest_marker("only_as_process")
    if marker is not None and config.getoption("--engine") == "wasm":
        item.add_marker(pytest.mark.skip(reason=f"engine wasm: {marker.args[0]}"))
