"""A server that starts a worker, says which processes there are, and waits to be killed."""

import asyncio
import os
import sys
from pathlib import Path

from ot.config.models import WorkerSettings
from ot.workers.extension import Extension
from ot.workers.extension import WorkerHost
from ot.workers.pool import open_worker_pool


async def main(folder: Path, file: Path, launch: str) -> None:
    host = WorkerHost(folder, folder, folder / "state", os.environ)
    async with open_worker_pool(WorkerSettings(launch=launch), host=host) as pool:
        extension = Extension("held", file, None, folder, file)
        pids = await pool.call(extension, "start", {})
        print(*pids, flush=True)
        await pool.call(extension, "hold", {})


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
