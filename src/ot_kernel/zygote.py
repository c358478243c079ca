"""The zygote: a small process with everything loaded, which forks a kernel whenever the server asks.

It is exec'ed with an empty environment and one descriptor to the server. A request is `{"fork": n}`, or
`{"probe": file}` for a kernel that only tries its confinement; a kernel is announced with five descriptors (its socket,
a pidfd, its output, its crash dump, its scratch folder), and its end with its status.
It has one thread, because a fork copies only one.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from ot_confinement import Allowance, Confinement, build_confinement
from ot_kernel import child
from ot_kernel.values import accept_rows
from ot_kernel.wire import Message

MAX_REQUEST = 64 * 1024
FIRST_FREE_FD = child.SERVER_FD + 1


class Zygote:
    """Forks kernels and reaps them until the server goes away."""

    def __init__(self, control: socket.socket, scratch_root: str, confinement: Confinement, *, confined: bool) -> None:
        self._control = control
        self._scratch_root = scratch_root
        self._confinement = confinement
        self._confined = confined  # if not, kernels can start processes, which must end with them
        self._kernels: dict[int, tuple[int, int]] = {}  # pidfd: (kernel's number, pid)
        self._count = 0
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        """Say what this system lacks, then answer requests until the server closes its end."""
        self._tell({"missing": self._confinement.missing}, [])
        while True:
            for fd, _ in self._poll.poll():
                if fd != self._control.fileno():
                    self._reap(fd)
                    continue
                request = self._control.recv(MAX_REQUEST)
                if not request:
                    return
                self._obey(json.loads(request))

    def _obey(self, request: Message) -> None:
        for _ in range(request.get("fork", 0)):
            self._fork(child.run_kernel)
        if "probe" in request:
            self._fork(partial(child.probe_kernel, request["probe"]), probe=True)

    def _fork(
        self, live: Callable[[child.Descriptors, str, Confinement, int], NoReturn], *, probe: bool = False
    ) -> None:
        self._count += 1
        number = self._count
        scratch = os.path.join(self._scratch_root, str(number))
        os.mkdir(scratch, 0o700)
        sized = self._confinement.size_folder(scratch)
        child.enter_scratch(scratch)
        folder = os.open(scratch, os.O_PATH | os.O_CLOEXEC)  # where it is a file system, the server has no path to it
        ours, theirs = socket.socketpair()
        output, dump = os.memfd_create("output"), os.memfd_create("dump")
        ruleset = self._confinement.prepare(scratch)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                if not self._confined:
                    _adopt_orphans()
                descriptors = child.Descriptors(theirs.fileno(), output, dump, ruleset)
                live(descriptors, scratch, self._confinement, parent)
            except BaseException:  # noqa: BLE001 - the edge: what it prints is the only clue to a kernel that cannot start
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(70)
        pidfd = os.pidfd_open(pid)
        self._kernels[pidfd] = (number, pid)
        self._poll.register(pidfd, select.POLLIN)
        announced = {"kernel": number, "pid": pid, "probe": probe, "sized": sized}
        self._tell(announced, [ours.fileno(), pidfd, output, dump, folder])
        for end in (ours, theirs):
            end.close()
        for fd in (output, dump, folder, ruleset):
            if fd is not None:
                os.close(fd)

    def end_kernels(self) -> None:
        """Kill every kernel and wait until it is gone, so that none writes any more; free what they wrote."""
        for pidfd, (_, pid) in self._kernels.items():
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._kernels.clear()
        self._end_orphans()
        for name in os.listdir(self._scratch_root):
            self._confinement.release_folder(os.path.join(self._scratch_root, name))

    def _reap(self, pidfd: int) -> None:
        number, pid = self._kernels.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        status = os.waitpid(pid, 0)[1]
        self._end_orphans()
        self._tell({"ended": number, "status": status}, [])

    def _end_orphans(self) -> None:
        """End what a dead kernel has started: what a living one starts is below that kernel, orphans too."""
        if not self._confined:
            from ot_guardian import end_children  # noqa: PLC0415 - see `_adopt_orphans`

            end_children({pid for _, pid in self._kernels.values()})

    def _tell(self, message: Message, fds: list[int]) -> None:
        socket.send_fds(self._control, [json.dumps(message).encode()], fds)


def main(control_fd: int, settings: Message) -> None:
    """Run as the whole program of the zygote's process."""
    control = socket.socket(fileno=fcntl.fcntl(control_fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD))
    _reserve_kernel_descriptors(control_fd)
    sys.path[:] = [*sys.path, *settings["path"]]
    for name in settings["preload"]:
        importlib.import_module(name)
    accept_rows()
    allowance = Allowance(
        readable=settings["readable"],
        writable=settings["writable"],
        memory=settings["memory"],
        file_size=settings["file_size"],
        open_files=child.OPEN_FILES_LIMIT,
        scratch=settings["scratch_size"],
        scratch_files=settings["scratch_files"],
    )
    confined = settings["sandbox"] != "off"
    confinement = build_confinement(allowance, off=not confined, system=settings["system"])
    confinement.share()
    if not confined:
        _adopt_orphans()
    child.prepare_process()
    gc.collect()
    gc.freeze()
    gc.disable()
    zygote = Zygote(control, settings["scratch"], confinement, confined=confined)
    try:
        zygote.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server died; nobody else will clear its scratch folders
    zygote.end_kernels()
    import shutil  # noqa: PLC0415 - only now: it would be copied into every kernel

    shutil.rmtree(settings["scratch"], ignore_errors=True)


def _adopt_orphans() -> None:
    from ot_guardian import adopt_orphans  # noqa: PLC0415 - only unconfined kernels have orphans; others start sooner

    adopt_orphans()


def _reserve_kernel_descriptors(control_fd: int) -> None:
    """Keep the low numbers for what each kernel puts there, so that a kernel overwrites nothing of the zygote's."""
    os.close(control_fd)
    while (fd := os.open(os.devnull, os.O_RDONLY)) < FIRST_FREE_FD:
        pass
    os.close(fd)
