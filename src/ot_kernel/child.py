"""A kernel's life: confine itself, rehearse, say that it is ready, run one program, wait for its end."""

from __future__ import annotations

import faulthandler
import gc
import io
import os
import signal
import site
import socket
import sys
from types import FrameType
from typing import NamedTuple, NoReturn, TextIO

from ot_confinement import Confinement
from ot_kernel.attributes import lend_attributes
from ot_kernel.indentation import FILENAME
from ot_kernel.pack_proxy import Tools
from ot_kernel.program_run import INTERRUPT, ProgramRun, interrupt
from ot_kernel.refusals import explain_refusals
from ot_kernel.wire import Channel, frame, pack

OUTPUT_FD, ERROR_FD, DUMP_FD, SERVER_FD = 1, 2, 3, 4
DUMP = signal.SIGUSR2
WHERE = signal.SIGURG  # one that does nothing where the code has taken our handler away
OPEN_FILES_LIMIT = 256  # the zygote, which has one for each kernel alive, gets by with it too

_REHEARSALS = 32
_REHEARSAL = {"code": "1", "aliases": {}, "values": {}, "packs": ["ot"]}


class Descriptors(NamedTuple):
    """The descriptors that a kernel inherits, wherever the zygote happens to have them."""

    server: int
    output: int
    dump: int
    ruleset: int | None

    def place(self) -> None:
        """Put them where they belong; the zygote keeps those numbers free, so that none is still a source."""
        for fd, target in (
            (self.output, OUTPUT_FD),
            (self.output, ERROR_FD),
            (self.dump, DUMP_FD),
            (self.server, SERVER_FD),
        ):
            os.dup2(fd, target)


def prepare_process() -> None:
    """Set up what all kernels have in common, once, before they are forked."""
    os.environ.update(PATH="", LANG="C.UTF-8")
    site.sethelper()
    site.setquit()  # builtins that are missing because the zygote starts without site-packages
    faulthandler.register(DUMP, file=DUMP_FD, all_threads=True)
    faulthandler.enable(file=DUMP_FD, all_threads=False)
    signal.signal(INTERRUPT, interrupt)
    signal.signal(WHERE, _tell_line)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # The interpreter settles its own caches, which kernels then need not touch.
    for _ in range(_REHEARSALS):
        _rehearse(Channel(-1, ""))
    _rehearse_calls(_REHEARSALS)


def enter_scratch(scratch: str) -> None:
    """Make the folder the home of the next kernel; the zygote does this, as it has no home of its own."""
    os.chdir(scratch)
    os.environ.update(HOME=scratch, TMPDIR=scratch)


def probe_kernel(
    outside: str | None, descriptors: Descriptors, scratch: str, confinement: Confinement, parent: int
) -> NoReturn:
    """Become a kernel, try what one must not be able to do, and tell what worked; nothing is ever run in it."""
    from ot_confinement.probe import find_broken_promises  # noqa: PLC0415 - what is loaded ahead makes every fork dearer

    descriptors.place()
    confinement.apply(descriptors.ruleset, parent)
    Channel(SERVER_FD, scratch).send({"op": "probed", "broken": find_broken_promises(outside, parent)})
    while True:
        signal.pause()


def run_kernel(descriptors: Descriptors, scratch: str, confinement: Confinement, parent: int) -> NoReturn:
    """Live the whole life of a forked kernel; it ends by SIGKILL, or here if the server goes away."""
    descriptors.place()
    confinement.apply(descriptors.ruleset, parent)
    os.closerange(SERVER_FD + 1, OPEN_FILES_LIMIT)
    channel = Channel(SERVER_FD, scratch)
    _rehearse(channel)
    _rehearse_calls(1)
    if "seccomp" in confinement.layers:
        explain_refusals()
        lend_attributes(channel, scratch)
    gc.enable()
    channel.send({"op": "ready", "layers": confinement.layers, "failed": confinement.failed})
    run = ProgramRun(channel, channel.receive())
    reply = run.reply()
    signal.signal(INTERRUPT, signal.SIG_IGN)
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        _flush(getattr(sys, name, None))
    channel.send(reply)
    while True:
        signal.pause()


def _tell_line(_signum: int, frame: FrameType | None) -> None:
    """Write down which line of the code the main thread is at, and go on.

    The dump that `faulthandler` writes could tell as well, but looks at other threads while they run, and may crash.
    """
    while frame is not None and frame.f_code.co_filename != FILENAME:
        frame = frame.f_back
    if frame is not None:
        os.write(DUMP_FD, b"[line %d]\n" % frame.f_lineno)


def _rehearse(channel: Channel) -> None:
    """Run an empty program, so that the first real one does not pay for page faults."""
    before = sys.modules["__main__"], list(sys.meta_path)
    ProgramRun(channel, dict(_REHEARSAL)).reply()
    sys.modules["__main__"], sys.meta_path[:] = before


def _rehearse_calls(count: int) -> None:
    """Call a tool that does not exist: the answer to each question was written before it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        tools = Tools(Channel(ours.fileno(), ""))
        for number in range(1, count + 1):
            theirs.send(frame(pack({"id": number, "value": "answer"})))
            tools.call("ot.version", (), {"text": "question"})
            theirs.recv(4096)


def _flush(stream: TextIO | None) -> None:
    """Flush a stream that the code may have closed or replaced; if it cannot be flushed, only its text is lost."""
    try:
        if stream is not None:
            stream.flush()
    except Exception:  # noqa: BLE001 - the edge: it may be any object
        pass
