"""A real executor for tests: registry, loader, threads and helper processes, closed in reverse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio

import ot_tools
from ot.config.models import Config
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import AllowedFiles
from ot.isolate import IsolateHost
from ot.processes.standby import Standby
from ot.registry.definitions import Cancellation, ToolDefinition
from ot.registry.from_source import read_pack
from ot.registry.registry import ToolRegistry
from ot.registry.tool_loader import ToolLoader
from ot.registry.tool_threads import ToolThreads
from scripts.pack_extras import read_once

BUILT_IN = Path(ot_tools.__file__).parent


@dataclass(frozen=True, slots=True)
class Opened:
    """What a test may look at."""

    executor: ToolExecutor
    registry: ToolRegistry
    isolate: IsolateHost
    threads: ToolThreads


@asynccontextmanager
async def open_executor(
    folder: Path = BUILT_IN,
    *,
    config: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    grace: float = 2.0,
    project: Path | None = None,
    **options: Any,
) -> AsyncIterator[Opened]:
    """An executor over the packs of one folder, which is the project too unless that is given."""
    registry = ToolRegistry()
    threads = ToolThreads(grace=grace)
    async with IsolateHost() as isolate, Standby() as standby:
        read = read_once if folder == BUILT_IN else read_pack  # reading them is most of opening an executor
        ToolLoader(registry, isolate=isolate, threads=threads, read=read).load_folder(folder)
        executor = ToolExecutor(
            registry,
            config=Config.model_validate(config or {}),
            secrets=Secrets(secrets, environ=environ),
            project=project or folder,
            **options,
        )
        files = AllowedFiles([executor.project], project=executor.project, home=executor.project / "home")
        executor.lend(files, standby, isolate)
        yield Opened(executor, registry, isolate, threads)
    threads.close()


def write_pack(folder: Path, source: str, name: str = "sample") -> Path:
    """A pack file with the given source."""
    file = folder / f"{name}.py"
    file.write_text(dedent(source), encoding="utf-8")
    return file


def define(name: str, parameters: Mapping[str, Any] | None = None, **fields: Any) -> ToolDefinition:
    """A definition as a test needs it; without parameters it accepts anything."""
    schema = {"type": "object", **(parameters or {})}
    fields.setdefault("description", "A tool of a test.")
    fields.setdefault("cancellation", Cancellation.ASYNC)
    return ToolDefinition(name=name, parameters=schema, signature=f"{name}(...)", **fields)


def add_tool(opened: Opened, name: str, function: Callable[[dict[str, Any]], Awaitable[Any]], **fields: Any) -> None:
    """Register a function of the test as a tool."""
    opened.registry.register(define(name, **fields), function)


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that another thread or process does."""
    with anyio.fail_after(60):
        while not condition():
            await anyio.sleep(0.005)
