"""A kernel's life: confine itself, rehearse, say that it is ready, run one program, wait for its end."""

from __future__ import annotations

import faulthandler
import gc
import io
import os
import signal
import site
import sys
from typing import NoReturn, TextIO

from ot_kernel.confine import Confinement
from ot_kernel.program_run import INTERRUPT, ProgramRun, interrupt
from ot_kernel.refusals import explain_refusals
from ot_kernel.wire import Channel

OUTPUT_FD, ERROR_FD, DUMP_FD, SERVER_FD = 1, 2, 3, 4
DUMP = signal.SIGUSR2

_REHEARSAL = {"code": "def f(x):\n    return {x: [x]}\nf(1)", "aliases": {}, "values": {}, "packs": ["ot"]}


def prepare_process() -> None:
    """What all kernels have in common, done once before they are forked."""
    site.sethelper()
    site.setquit()  # builtins that are missing because the zygote starts without site-packages
    faulthandler.register(DUMP, file=DUMP_FD, all_threads=True)
    faulthandler.enable(file=DUMP_FD, all_threads=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)


def run_kernel(server: int, output: int, dump: int, scratch: str, confinement: Confinement, parent: int) -> NoReturn:
    """The whole life of a forked kernel; it ends by SIGKILL, or here if the server goes away."""
    _place_descriptors(server, output, dump)
    os.chdir(scratch)
    os.environ.update(HOME=scratch, TMPDIR=scratch, PATH="", LANG="C.UTF-8")
    confinement.apply(scratch, parent)
    os.closerange(SERVER_FD + 1, 256)  # only now: the rules of Landlock were open
    channel = Channel(SERVER_FD, scratch)
    _rehearse(channel)
    explain_refusals()
    signal.signal(INTERRUPT, interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()
    channel.send({"op": "ready", "layers": confinement.layers, "failed": confinement.failed})
    run = ProgramRun(channel, channel.receive())
    reply = run.reply()
    signal.signal(INTERRUPT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    channel.send(reply)
    while True:
        signal.pause()


def _place_descriptors(server: int, output: int, dump: int) -> None:
    """Fixed places for the descriptors of a kernel, by way of numbers that no source can have."""
    for fd, place in ((output, 100), (dump, 101), (server, 102)):
        os.dup2(fd, place)
    for place, target in ((100, OUTPUT_FD), (100, ERROR_FD), (101, DUMP_FD), (102, SERVER_FD)):
        os.dup2(place, target)


def _rehearse(channel: Channel) -> None:
    """Run an empty program, so that the first real one does not pay for page faults."""
    before = sys.modules["__main__"], list(sys.meta_path)
    ProgramRun(channel, dict(_REHEARSAL)).reply()
    sys.modules["__main__"], sys.meta_path[:] = before


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        pass  # closed by the code; what it had written is lost, as in any program
