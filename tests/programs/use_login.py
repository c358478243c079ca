"""A replica that uses a login which another one may renew: `use_login.py DATABASE URL FOLDER KEY`.

It says `ready`, then `said` for each line that it reads, once the server that asks for the login has answered.
"""

import os
import sys
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread

from ot.parts.known_tools import load_connection_builder
from ot.config.models import Config
from ot.proxy.host import ProxyHost
from ot.proxy.servers import open_servers
from ot.registry.places import PackPlaces
from ot.registry.registry import ToolRegistry
from ot.store.opening import build_backend
from ot.store.sealing import Sealer


async def main(database: str, url: str, folder: Path, key: str) -> None:
    settings = Config.model_validate({"servers": {"web": {"url": url}}}).servers
    registry = ToolRegistry()
    with closing(build_backend(database)) as backend:
        own = backend.build_personal_store(folder, principal="ada", sealer=lambda: Sealer([key]))
        host = ProxyHost(folder, own.shelf, own.credentials, os.environ, load_connection_builder)
        async with open_servers(settings, registry=registry, places=PackPlaces(registry), host=host) as servers:
            [server] = servers.choose("web")
            await server.obtain()
            print("ready", flush=True)
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                await server.call("echo", {"text": line.strip()})
                print("said", flush=True)


anyio.run(main, sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
