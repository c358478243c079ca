"""A real pool for tests, with extension files written by the test or taken from `tests/programs/extensions/`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from ot.config.models import Config, WorkerSettings
from ot.config.secrets import Secrets
from ot.execution.tool_executor import ToolExecutor
from ot.execution.wording import word_error
from ot.registry.definitions import Cancellation
from ot.registry.from_source import read_pack
from ot.registry.registry import ToolRegistry
from ot.workers.extension import Extension, WorkerHost
from ot.workers.pep723 import read_header
from ot.workers.pool import WorkerPool, open_worker_pool

PROGRAMS = Path(__file__).parent / "programs" / "extensions"


def extension_of(file: Path, pack: str = "") -> Extension:
    """A file as the pool is given it."""
    return Extension(pack or file.stem.removesuffix("_tools"), file, read_header(file)[0], file.parent, file)


def program(name: str) -> Extension:
    """A misbehaving extension."""
    return extension_of(PROGRAMS / f"{name}.py")


def write_extension(folder: Path, source: str, name: str = "sample") -> Extension:
    """An extension with the given source."""
    file = folder / f"{name}.py"
    file.write_text(dedent(source), encoding="utf-8")
    return extension_of(file)


def host_of(folder: Path, environ: Mapping[str, str] = os.environ) -> WorkerHost:
    """Everything that workers leave is below one folder, except for uv's own cache."""
    return WorkerHost(project=folder, home=folder, state=folder / "state", environ=environ, word=word_error)


@asynccontextmanager
async def open_pool(
    folder: Path, *, environ: Mapping[str, str] = os.environ, **settings: Any
) -> AsyncIterator[WorkerPool]:
    """A pool whose project is a folder."""
    async with open_worker_pool(WorkerSettings(**settings), host=host_of(folder, environ)) as pool:
        yield pool


@dataclass(frozen=True, slots=True)
class Engine:
    """A pool behind an executor, as calls really reach it."""

    pool: WorkerPool
    registry: ToolRegistry
    executor: ToolExecutor

    def add(self, extension: Extension, **fields: Any) -> None:
        """Register the tools of an extension."""
        pack = read_pack(extension.file, name=extension.pack, cancellation=Cancellation.WORKER)
        for definition in pack.tools.values():
            function = self.pool.function_of(extension, definition.tool)
            self.registry.register(replace(definition, **fields), function)


@asynccontextmanager
async def open_engine(
    folder: Path,
    *extensions: Extension,
    config: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    state: Path | None = None,
    **fields: Any,
) -> AsyncIterator[Engine]:
    """An executor over extensions; `fields` are those of their definitions, `state` is a folder in the folder."""
    settings = Config.model_validate(config or {})
    registry = ToolRegistry()
    executor = ToolExecutor(registry, config=settings, secrets=Secrets(secrets), project=folder)
    host = host_of(folder, environ)
    async with open_worker_pool(settings.workers, host=replace(host, state=state or host.state)) as pool:
        engine = Engine(pool, registry, executor)
        for extension in extensions:
            engine.add(extension, **fields)
        yield engine
