"""Calls of the pack `file` through a real executor, with a project in a temporary folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import AllowedFiles


@dataclass(frozen=True, slots=True)
class Caller:
    """The project, and the tools of the pack."""

    project: Path
    executor: ToolExecutor

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        return await self.executor.call(f"file.{tool}", arguments)

    def write(self, name: str, content: str | bytes) -> Path:
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


def build_caller(home: Path, executor: ToolExecutor) -> Caller:
    """A project of its own in a home; the executor is shared, and can be used by one of them at a time."""
    project = home / "project"
    project.mkdir(parents=True)
    executor.lend(AllowedFiles([project], project=project, home=home))
    return Caller(project, executor)
