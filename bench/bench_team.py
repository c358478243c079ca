"""What people and a shared store cost: the same sessionless run with an API key and PostgreSQL, and without either."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from bench.http_client import HttpClient
from bench.report import Line
from bench.servers import RUN, Servers
from ot.store.sealing import new_key
from tests.packs.db.servers import run_postgres

REPEATS = 200
_CONFIG = """
store: postgresql://admin@/postgres?host={host}&port={port}
auth: {{public_url: "http://127.0.0.1"}}
seal: {{keys: [{key}]}}
"""


def measure(servers: Servers) -> Iterator[Line]:
    with run_postgres() as database:
        file = servers.folder / "team.yaml"
        file.write_text(_CONFIG.format(host=database.folder, port=database.port, key=new_key()))
        environment = {"PATH": "", "HOME": str(servers.folder)}
        onetool = [sys.executable, "-m", "onetool"]
        command = [*onetool, "keys", "--config", str(file), "new", "--for", "bench"]
        made = subprocess.run(command, env=environment, cwd=servers.folder, capture_output=True, text=True, check=True)
        serve = [*onetool, "serve", "--config", str(file), "--http", "127.0.0.1:0"]
        client = HttpClient(serve, environment=environment, folder=servers.folder, key=made.stdout.strip())
        with client as team, servers.start_ours_over_http() as alone:
            for _ in range(20):
                team.call(*RUN)
                alone.call(*RUN)
            pairs = [(_apart(team), _apart(alone)) for _ in range(REPEATS)]
        ours, floor = (median(times) * 1e3 for times in zip(*pairs, strict=True))
        yield Line("run('1+1') over HTTP, key and PostgreSQL / neither", ours, floor, "ms", 1.5)


def _apart(client: HttpClient) -> float:
    time.sleep(0.01)
    return client.call(*RUN)
