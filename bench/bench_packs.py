"""A server that has the libraries of all packs beside it, against one that has none of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

from bench.process_tree import proportional_set_size
from bench.report import Line
from bench.servers import RUN, Servers, open_servers
from bench.stdio_client import StdioClient

ROUNDS = 9
_ROOT = Path(__file__).parent.parent


def measure(_: Servers) -> Iterator[Line]:
    with open_servers() as servers:
        base = _make_base(servers.folder / "base")
        pythons = (Path(sys.executable), base)
        for python in pythons:
            _look_at(servers, python)  # the first start of all reads files that the others find in memory
        rounds = [[_look_at(servers, python) for python in pythons] for _ in range(ROUNDS)]
    for index, what, unit in ((0, "start to first answered run", "ms"), (1, "memory when idle", "MB")):
        full, bare = (median(each[side][index] for each in rounds) for side in (0, 1))
        yield Line(f"{what}, all libraries installed", full, bare, unit, 1.05)


def _make_base(folder: Path) -> Path:
    """Make an environment with OneTool and what it cannot do without."""
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder / "bin" / "python")]
    subprocess.run([*install, "--requirements", str(_ROOT / "requirements.txt")], check=True)
    subprocess.run([*install, "--no-deps", "--editable", str(_ROOT)], check=True)
    return folder / "bin" / "python"


def _look_at(servers: Servers, python: Path) -> tuple[float, float]:
    """Milliseconds to the first answered run, and megabytes when idle."""
    begin = time.perf_counter()
    with _start(servers, python) as server:
        server.initialize()
        server.call(*RUN)
        answered = (time.perf_counter() - begin) * 1e3
        time.sleep(2)  # the warm kernels are replaced after the answer, and one tries its confinement
        return answered, proportional_set_size(server.pid) / 1e6


def _start(servers: Servers, python: Path) -> AbstractContextManager[StdioClient]:
    command = [str(python), "-m", "onetool", "serve"]
    return StdioClient(command, environment={"PATH": "", "HOME": str(servers.folder)}, folder=servers.folder)
