"""How many kernels a second the zygote alone can make: forked, confined, ready, and ended without a run."""

from __future__ import annotations

import json
import os
import signal
import time

from ot.config.models import ExecutionSettings
from ot.kernel.zygote_process import ZygoteProcess, end_zygote, launch_zygote, request_kernels

_MESSAGE_SIZE = 4096
_DESCRIPTORS = 5  # of a kernel: its socket, a handle on it, its output, its crash dump, its scratch folder


def measure_fork_rate(*, count: int, in_flight: int) -> float:
    """Kernels a second, with never more than `in_flight` alive."""
    zygote = launch_zygote(ExecutionSettings(warm=0))
    try:
        zygote.control.setblocking(True)
        zygote.control.receive_message(_MESSAGE_SIZE)  # it is up, and says which layers of confinement the system lacks
        _make_kernels(zygote, count=in_flight, in_flight=in_flight)
        start = time.perf_counter()
        _make_kernels(zygote, count=count, in_flight=in_flight)
        return count / (time.perf_counter() - start)
    finally:
        end_zygote(zygote)


def _make_kernels(zygote: ZygoteProcess, *, count: int, in_flight: int) -> None:
    asked, ended = in_flight, 0
    request_kernels(zygote, in_flight)
    while ended < count:
        message, fds = zygote.control.receive_message(_MESSAGE_SIZE, _DESCRIPTORS)
        if fds:
            _end_kernel(fds)  # what it said is that it is ready
            continue
        ended += 1
        if asked < count:
            asked += 1
            end = json.loads(message)
            request_kernels(zygote, 1, again=[end["folder"]] if end["unused"] else [])


def _end_kernel(fds: list[int]) -> None:
    signal.pidfd_send_signal(fds[1], signal.SIGKILL)
    for fd in fds:
        os.close(fd)
