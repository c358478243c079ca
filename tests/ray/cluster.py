"""A real Ray cluster on this machine, with nodes that can be killed; it has the Ray that the driver has."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from ot.workers.extension import WorkerHost
from ot.workers.pack_environments import find_environment, make_environment
from ot.workers.ray.engine import LIBRARIES

STATE = Path(__file__).parent / ".cache"
"""Holds the environment with Ray; it is kept, because it has 200 MB."""

# By default everything waits a minute for the head of a cluster to come back, and half of one for a node.
_SHORT = {
    "RAY_gcs_rpc_server_reconnect_timeout_s": "3",
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_PROGRAM = Path(__file__).with_name("cluster_program.py")


def environ_for_ray() -> dict[str, str]:
    """Return the environment of nodes and drivers; uv is on the PATH of nodes."""
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    return {**os.environ, "PATH": path, **_SHORT}


async def make_ray(environ: Mapping[str, str]) -> Path:
    """Return an interpreter that has Ray, installed once."""
    environment = find_environment(STATE, LIBRARIES)
    host = WorkerHost(STATE, STATE, STATE, environ)
    STATE.mkdir(exist_ok=True, mode=0o700)
    await make_environment(environment, host, lambda _: None, patient=True)
    return environment.python


@dataclass(frozen=True, slots=True)
class RayCluster:
    """The cluster's address, and its program."""

    address: str
    _program: subprocess.Popen[str]

    def add(self, node: str, *, cpus: int = 1, **resources: float) -> None:
        """Start a node."""
        self._do(do="add", node=node, cpus=cpus, resources=resources)

    def kill(self, node: str) -> None:
        """Kill a node, with all that runs there."""
        self._do(do="kill", node=node)

    def kill_head(self) -> None:
        """Kill the head."""
        self._do(do="kill head", node="")

    def _do(self, **order: object) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        read_answer(self._program)


def read_answer(program: subprocess.Popen[str]) -> dict[str, str]:
    """Return the next line that is an answer; Ray prints others."""
    assert program.stdout is not None
    for line in program.stdout:
        if line.startswith("{"):
            answer: dict[str, str] = json.loads(line)
            return answer
    raise RuntimeError("the cluster has ended")


@contextmanager
def run_cluster() -> Iterator[RayCluster]:
    """Start a head without processors; its nodes end with it."""
    environ = environ_for_ray()
    with start_blocking_portal() as portal:  # a test may have a loop in this thread
        python = portal.call(make_ray, environ)
    command = [str(python), str(_PROGRAM)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True
    ) as program:
        assert program.stdin is not None
        try:
            yield RayCluster(read_answer(program)["address"], program)
        finally:
            program.stdin.close()
            program.wait(60)
