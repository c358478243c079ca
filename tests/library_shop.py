"""A pack that needs libraries, the list of them, and an index that has them: all made by the test."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from anyio import fail_after

from ot.clients.caller import Caller
from ot.execution.tool_executor import ToolExecutor
from ot.files.allowed_files import AllowedFiles
from ot.isolate import IsolateHost
from ot.registry.definitions import Libraries
from ot.registry.from_source import read_pack
from ot.registry.tool_loader import ToolLoader
from ot.workers.pack_environments import FOLDER
from tests.opened_executor import write_pack
from tests.wheels import write_wheel
from tests.worker_pool import open_engine

NO_NETWORK = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
NAMES = ("thing", "other-thing")
PACK = """
    import sys
    from pathlib import Path
    from typing import TypedDict
    from ot.context import current
    from ot.isolate import isolated
    from ot.workers.pool import pack_program

    needs = {"thing": "thing>=1", "other_thing": "other-thing", "bin/thing": "thing>=1"}

    @isolated
    def facts() -> dict:
        import thing, other_thing
        return {"thing": thing.VERSION, "prefix": sys.prefix, "version": sys.version, "tool": current().tool}

    @isolated(reads=["{path}"])
    def read(*, path: str, other: str) -> str:
        import thing
        return Path(path).read_text() + Path(other).read_text()

    async def light() -> str:
        return "needs nothing"

    async def program(*, name: str) -> str:
        return str(await pack_program(name))
"""


class Server:
    """One server over the pack of a shop."""

    def __init__(self, told: list[str], executor: ToolExecutor) -> None:
        self._told = told
        self._executor = executor

    async def call(self, tool: str, **arguments: Any) -> Any:
        async def progress(done: float, total: float | None, message: str) -> None:
            self._told.append(message)

        @contextmanager
        def hold() -> Iterator[None]:
            self._told.append("held")
            yield
            self._told.append("released")

        with fail_after(60):
            return await self._executor.call(tool, arguments, caller=Caller(progress=progress, hold=hold))


class LibraryShop:
    """A folder with a pack, the list of its libraries, and an index that has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = folder / "wheels"
        self.environ = {**os.environ, **NO_NETWORK, "UV_CACHE_DIR": str(folder / "cache")}
        self.told: list[str] = []
        self.file = write_pack(folder, PACK)
        for name in ("thing", "other_thing"):
            write_wheel(self.wheels, "1.0", name=name)
        self.pin()

    def pin(self, **hashes: str) -> None:
        lines = []
        for wheel in sorted(self.wheels.glob("*.whl")):
            name, version, *_ = wheel.name.split("-")
            digest = hashes.get(name) or hashlib.sha256(wheel.read_bytes()).hexdigest()
            lines.append(f"{name.replace('_', '-')}=={version} --hash=sha256:{digest}\n")
        (self.folder / "requirements").mkdir(exist_ok=True)
        (self.folder / "requirements" / "sample.txt").write_text("".join(lines))

    def offline(self) -> dict[str, str]:
        """uv finds the wheels in a folder."""
        return {**self.environ, "UV_FIND_LINKS": str(self.wheels)}

    def online(self, index: str) -> dict[str, str]:
        """uv asks an index."""
        return {**self.environ, "UV_DEFAULT_INDEX": index, "NO_PROXY": "127.0.0.1"}

    @property
    def libraries(self) -> Libraries:
        found = read_pack(self.file).libraries
        assert found is not None
        return found

    def environments(self) -> list[Path]:
        return sorted(path for path in (self.folder / "state" / FOLDER).glob("*") if path.is_dir())

    @asynccontextmanager
    async def server(self, environ: Mapping[str, str]) -> AsyncIterator[Server]:
        async with (
            open_engine(
                self.folder,
                environ=environ,
            ) as engine,
            IsolateHost(find_python=engine.pool.python_of) as isolate,
        ):
            engine.executor.lend(engine.pool)
            engine.executor.lend(AllowedFiles([self.folder], project=self.folder, home=self.folder / "home"))
            ToolLoader(engine.registry, isolate=isolate).load_folder(self.folder)
            yield Server(self.told, engine.executor)
