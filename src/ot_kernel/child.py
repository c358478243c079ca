"""A kernel's life: confine itself, introduce itself to the server, run one program, wait for its end."""

from __future__ import annotations

import _socket
import errno
import faulthandler
import gc
import io
import os
import site
import socket
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TextIO

from ot_kernel.executing import RunInterrupted, find_line
from ot_kernel.pack_proxy import Tools
from ot_kernel.program_run import ProgramRun
from ot_kernel.refusals import OwnFiles, explain_refusals, send_without_refusal
from ot_kernel.scratch_folders import ScratchFolder
from ot_kernel.wire import Channel, Message, frame, pack
from ot_system import PLACE, close_from, memory_file, own_handle

if TYPE_CHECKING:
    import signal

    from ot_confinement.limits import Confinement
    from ot_kernel.message_types import ZygoteReport
    from ot_system.sockets import MessageSocket
else:
    import _signal as signal  # the enumerations around it cost a kernel ten times as much as the calls themselves

OUTPUT_FD, ERROR_FD, DUMP_FD, SERVER_FD = 1, 2, 3, 4
INTERRUPT = signal.SIGUSR1
DUMP = signal.SIGUSR2
WHERE = signal.SIGURG  # one that does nothing where the code has taken our handler away
OPEN_FILES_LIMIT = 256  # the zygote, which has one for each kernel alive, gets by with it too

HANDED = 5  # descriptors that a kernel hands to the server
_TOO_MANY_ON_THEIR_WAY = (errno.ETOOMANYREFS, errno.ENOBUFS)
_TRY_AGAIN = 0.005  # seconds
_REHEARSALS = 32
REHEARSAL: Message = {"code": "1", "aliases": {}, "values": {}, "packs": ["ot"]}


_own_files = OwnFiles()


class KernelStart(NamedTuple):
    """Everything the zygote gives a kernel that it forks; a kernel does all the rest itself.

    Whatever the zygote wrote to between two forks, it would have to copy again after each.
    """

    number: int
    scratch: ScratchFolder
    control: MessageSocket  # on which it introduces itself to the server
    parent: int
    confinement: Confinement
    rehearse: bool  # where the fork has not copied what a kernel writes to, it had better do so before it is needed


def prepare_process(*, guarded: bool) -> None:
    """Set up what all kernels have in common, once, before they are forked; `guarded` ones may not make every call."""
    os.environ.update(PATH="", LANG="C.UTF-8")
    site.sethelper()
    site.setquit()  # builtins that are missing because the zygote starts without site-packages
    faulthandler.register(DUMP, file=DUMP_FD, all_threads=False)
    without_c = {"c_stack": False} if sys.version_info >= (3, 14) else {}  # nobody reads it
    faulthandler.enable(file=DUMP_FD, all_threads=False, **without_c)
    signal.signal(INTERRUPT, _interrupt)
    signal.signal(WHERE, _tell_line)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    if guarded:
        send_without_refusal()
        _own_files.install()
    # The interpreter settles its own caches, which kernels then need not touch.
    for _ in range(_REHEARSALS):
        _rehearse(Channel(-1, ""))
    _rehearse_calls(_REHEARSALS)


def probe_kernel(outside: str | None, start: KernelStart) -> NoReturn:
    """Become a kernel, try what one must not be able to do, and tell what worked; nothing is ever run in it."""
    from ot_confinement.probe import find_broken_promises  # noqa: PLC0415 - what is loaded ahead makes every fork dearer

    channel = become_kernel(start, probe=True)
    channel.send({"op": "probed", "broken": find_broken_promises(outside, start.parent)})
    while True:
        signal.pause()


def run_kernel(start: KernelStart) -> NoReturn:
    """Live the whole life of a forked kernel; it ends by SIGKILL, or here if the server goes away."""
    channel = become_kernel(start)
    if "seccomp" in start.confinement.layers:
        explain_refusals()
        _own_files.own(channel, start.scratch.path)
    gc.enable()
    run = ProgramRun(channel, channel.receive())
    reply = run.reply()
    signal.signal(INTERRUPT, signal.SIG_IGN)
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        _flush(getattr(sys, name, None))
    channel.send(reply)
    while True:
        signal.pause()


def become_kernel(start: KernelStart, *, probe: bool = False) -> Channel:
    """Take on the confinement, and tell the server, which may then send a program; none is read before the last layer.

    The server gets the other end of the socket, a handle on this process, output, crash dump and scratch folder.
    """
    scratch, confinement = start.scratch.path, start.confinement
    os.chdir(scratch)
    os.environ["HOME"] = os.environ["TMPDIR"] = scratch
    server, ours = (end.detach() for end in _socket.socketpair())
    output, dump = memory_file("output"), memory_file("dump")
    folder = os.open(scratch, PLACE | os.O_CLOEXEC)  # where it is a file system, the server has no path to it
    pid = os.getpid()
    handed = [server, own_handle(), output, dump, folder]
    words = os.dup(ERROR_FD)  # the zygote's, which the server reads
    # The zygote keeps those numbers free, so that none is still a source.
    for fd, target in ((output, OUTPUT_FD), (output, ERROR_FD), (dump, DUMP_FD), (ours, SERVER_FD)):
        os.dup2(fd, target)
    try:
        confinement.apply(start.scratch.rules, start.parent)
        channel = Channel(SERVER_FD, scratch)
        if start.rehearse:
            _rehearse(channel)
            _rehearse_calls(1)
        told: ZygoteReport = {
            "kernel": start.number,
            "pid": pid,
            "probe": probe,
            "folder": start.scratch.name,
            "sized": start.scratch.sized,
            "layers": confinement.layers,
            "failed": confinement.failed,
        }
        _introduce(start.control, told, handed)
    except BaseException:
        os.dup2(words, ERROR_FD)  # nobody reads the output of a kernel that was never announced
        raise
    close_from(SERVER_FD + 1, OPEN_FILES_LIMIT, handed, answer=None if probe else SERVER_FD)
    confinement.seal()
    if confinement.failed:
        channel.send({"op": "unconfined", "failed": confinement.failed})
        while True:
            signal.pause()
    return channel


def _introduce(control: MessageSocket, told: ZygoteReport, handed: list[int]) -> None:
    """Tell the server that there is a kernel; as long as the server is too busy to take its descriptors, wait.

    A user may have only as many on their way to others as a process may have open.
    """
    while True:
        try:
            control.send_message(pack(told), handed)
        except OSError as error:
            if error.errno not in _TOO_MANY_ON_THEIR_WAY:
                raise
            time.sleep(_TRY_AGAIN)
        else:
            return


def _tell_line(_signum: int, frame: FrameType | None) -> None:
    """Write down which line of the code the main thread is at, and go on.

    The dump that `faulthandler` writes could tell as well, but looks at frames while they change, and may crash.
    """
    if line := find_line(frame):
        os.write(DUMP_FD, b"[line %d]\n" % line)


def _interrupt(_signum: int, _frame: FrameType | None) -> None:
    """Stop the code wherever it is, once: what it does on its way out is not interrupted again."""
    signal.signal(INTERRUPT, signal.SIG_IGN)
    raise RunInterrupted


def _rehearse(channel: Channel) -> None:
    """Run an empty program, so that the first real one does not pay for page faults."""
    before = sys.modules["__main__"], list(sys.meta_path)
    ProgramRun(channel, REHEARSAL.copy()).reply()
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
