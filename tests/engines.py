"""The engine that tests run code on: with `pytest --engine wasm`, those of this process use the component."""

from __future__ import annotations

import os

import pytest

from ot.config.models import Config, ExecutionSettings
from ot.kernel.zygote_process import COMPILED
from ot_wasm.component import find_or_compile, is_stale

FORGE = """
import os, struct, sys
if sys.platform == "wasi":
    import wit_world
    def forge(*messages):
        for message in messages:
            wit_world.tell(message.decode("latin-1"))
else:
    def forge(*messages):
        os.write(4, b"".join(struct.pack("!I", len(message)) + message for message in messages))
"""
"""For code that writes its own messages to the server, past everything that would check them."""


def add_engine_option(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=("auto", "wasm"), default="auto", help="the engine that code runs on")


def use_engine(config: pytest.Config) -> None:
    """Make it the default of every configuration that names none."""
    engine = config.getoption("--engine")
    if engine == "wasm" and is_stale():
        raise pytest.UsageError("the component of the engine wasm is missing or stale: make wasm")
    if engine == "wasm":
        find_or_compile(os.environ[COMPILED], lambda: None)  # now: no test should have to wait for that
    ExecutionSettings.settings["engine"].default = engine
    Config.settings["execution"].default = ExecutionSettings()


def on_wasm() -> bool:
    """True if that is what code runs on; numbers and names of the system are then those of WASI."""
    return ExecutionSettings.settings["engine"].default == "wasm"


def skip_other_engine(config: pytest.Config, item: pytest.Item) -> None:
    """Skip what is true of processes only; the marker `only_as_process` says why."""
    marker = item.get_closest_marker("only_as_process")
    if marker is not None and config.getoption("--engine") == "wasm":
        item.add_marker(pytest.mark.skip(reason=f"engine wasm: {marker.args[0]}"))
