"""What a worker costs: one more call of a warm one inside a run, and the first call after a server's start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from bench.bench_calls import marginal_call
from bench.report import Line
from bench.servers import RUN, Servers, open_servers, run, warm_up
from bench.stdio_client import StdioClient
from ot.workers.extension import find_uv, uv_environment

IMPORTS = "from packaging.version import Version"
EXTENSION = f'''\
# /// script
# requires-python = ">=3.11"
# dependencies = ["packaging>=24"]
# ///
"""For measuring."""

{IMPORTS}


def upper(*, text: str) -> str:
    """Write a text in capital letters."""
    return text.upper()
'''
CALL = "measured.upper(text='a')"
IN_PROCESS = "demo.foo(text='a')"  # a plain function too
ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()"
LINE = b'{"jsonrpc":"2.0","id":1,"method":"call","params":{"tool":"upper","arguments":{"text":"a"}}}\n'
ROUND_TRIPS = 1000
ROUNDS = 3
STARTS = 9
SETTLING = 0.3  # seconds in which the supply of kernels is full again


def measure(_: Servers) -> Iterator[Line]:
    environment = _environment_of_uv()
    with open_servers(environment) as servers:
        file = _write_extension(servers.folder)
        servers.enable_demo()
        with servers.start_ours() as server:
            warm_up(server, run(CALL))
            worker, floor = zip(*(_warm_call(server) for _ in range(ROUNDS)), strict=True)
        yield Line("marginal call of a warm worker", median(worker), median(floor), "µs", 1.5)
        python = _find_interpreter(file, environment)
        first, start = zip(*((_first_call(servers), _interpreter_start(python)) for _ in range(STARTS)), strict=True)
        yield Line("first call of an extension, warm cache", median(first), median(start), "ms", 1.5)


def _warm_call(server: StdioClient) -> tuple[float, float]:
    """Ours and what it is measured against, in turns: a busy machine then slows both down."""
    return marginal_call(server, CALL), marginal_call(server, IN_PROCESS) + _pipe_round_trip()


def _write_extension(home: Path) -> Path:
    file = home / ".onetool" / "tools" / "measured" / "measured_tools.py"
    file.parent.mkdir(parents=True)
    file.write_text(EXTENSION)
    return file


def _pipe_round_trip() -> float:
    """Microseconds for a line to another process and back."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as echo:
        assert echo.stdin
        assert echo.stdout
        taken = []
        for _ in range(ROUND_TRIPS):
            start = time.perf_counter()
            echo.stdin.write(LINE)
            echo.stdout.read(len(LINE))
            taken.append(time.perf_counter() - start)
        echo.stdin.close()
    return median(taken) * 1e6


def _uv(*arguments: str | Path, environment: Mapping[str, str]) -> str:
    uv = find_uv(os.environ)
    assert uv is not None
    return subprocess.run([uv, *arguments], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def _environment_of_uv() -> dict[str, str]:
    """What lets uv fetch packages here, with the cache of whoever measures."""
    environment = uv_environment(os.environ)
    return environment | {"UV_CACHE_DIR": _uv("cache", "dir", environment=environment)}


def _find_interpreter(file: Path, environment: Mapping[str, str]) -> Path:
    """That of the environment which uv has made for the extension."""
    return Path(_uv("python", "find", "--script", file, environment=environment))


def _first_call(servers: Servers) -> float:
    """Milliseconds of a run that is the first to call the extension; the server is warm, the worker not started."""
    with servers.start_ours() as server:
        warm_up(server, RUN)
        time.sleep(SETTLING)
        return server.call(*run(CALL)) * 1e3


def _interpreter_start(python: Path) -> float:
    start = time.perf_counter()
    subprocess.run([python, "-c", IMPORTS], check=True)
    return (time.perf_counter() - start) * 1e3
