"""The fixtures of all tests of the pack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ot.execution.tool_executor import ToolExecutor
from tests.opened_executor import open_executor
from tests.packs.file.caller import Caller, build_caller


@pytest.fixture(scope="module")
async def executor() -> AsyncIterator[ToolExecutor]:
    async with open_executor() as opened:
        yield opened.executor


@pytest.fixture
def call(tmp_path: Path, executor: ToolExecutor) -> Caller:
    return build_caller(tmp_path / "home", executor)
