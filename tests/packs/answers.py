"""Answers to code of a run, for a person who agrees to everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ot.app import App
from ot.clients.caller import Caller, Choice
from ot.execution.tool_executor import ToolExecutor


async def agree(question: str, choices: Sequence[Choice]) -> Choice:
    return choices[0]


async def value_of(app: App, code: str) -> Any:
    """The value of code that must succeed."""
    answer = await app.runner.run(code, caller=Caller(ask=agree))
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


async def value_from(executor: ToolExecutor, tool: str, arguments: Mapping[str, Any]) -> Any:
    """The value of a tool that is called by name."""
    return await executor.call(tool, arguments)


async def refusal_of(app: App, code: str) -> str:
    """The answer to code that must fail."""
    answer = await app.runner.run(code, caller=Caller(ask=agree))
    assert answer.is_error, answer.text
    return answer.text
