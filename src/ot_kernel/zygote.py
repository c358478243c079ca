"""The zygote: a small process with everything loaded, which forks a kernel whenever the server asks.

It is exec'ed with an empty environment and one descriptor to the server. A request is `{"fork": n}`, with the names of
unused scratch folders as `again` if there are any, or `{"probe": file}` for a kernel that only tries its confinement; a
kernel introduces itself to the server when it is ready, and the zygote tells how it ended.
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
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ot_confinement import Allowance, build_confinement
from ot_kernel import child
from ot_kernel.pinned_pages import PinnedPages, copy_tables, open_pages
from ot_kernel.scratch_folders import ScratchFolder, ScratchFolders
from ot_kernel.values import accept_rows
from ot_system import ChildWatch, kill
from ot_system.sockets import MessageSocket

if TYPE_CHECKING:
    from ot_confinement.limits import Confinement
    from ot_kernel.message_types import ZygoteReport, ZygoteRequest, ZygoteSettings

MAX_REQUEST = 64 * 1024
FIRST_FREE_FD = child.SERVER_FD + 1
_NONE = "none"  # the name of a folder that could not be made


_Live = Callable[[child.KernelStart], NoReturn]


class Lives(NamedTuple):
    """The whole life of a kernel, and of one that only tries its confinement."""

    run: _Live = child.run_kernel
    probe: Callable[[str | None, child.KernelStart], NoReturn] = child.probe_kernel


class Zygote:
    """Forks kernels and reaps them until the server goes away."""

    def __init__(
        self,
        control: MessageSocket,
        scratch_root: str,
        confinement: Confinement,
        pages: PinnedPages | None,
        *,
        confined: bool,
        lives: Lives = Lives(),  # noqa: B008 - a value that does not change
    ) -> None:
        self._lives = lives
        self._control = control
        self._scratch_root = scratch_root
        self._confinement = confinement
        self._confined = confined  # if not, kernels can start processes, which must end with them
        self._folders = ScratchFolders(scratch_root, confinement)
        self._kernels: dict[int, tuple[int, int, bool, ScratchFolder]] = {}  # by handle: number, pid, only a probe
        self._pid = os.getpid()
        self._count = 0
        self._pages = pages
        self._unpinned = True
        self._used = False  # nothing is pinned for a single run, nor while a server starts
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        """Say what this system lacks, then answer requests until the server closes its end."""
        self._tell({"missing": self._confinement.missing})
        while True:
            for fd, _ in self._poll.poll():
                if fd != self._control.fileno():
                    self._reap(fd)
                    continue
                request = self._control.receive_message(MAX_REQUEST)[0]
                if not request:
                    return
                self._obey(json.loads(request))

    def _obey(self, request: ZygoteRequest) -> None:
        self._folders.use_again(request.get("again", ()))
        for _ in range(request.get("fork", 0)):
            self._fork(self._lives.run)
        if "probe" in request:
            self._fork(partial(self._lives.probe, request["probe"]), probe=True)
        if self._used and self._pages is not None:
            self._pin(self._pages)

    def _fork(self, live: _Live, *, probe: bool = False) -> None:
        self._count += 1
        try:
            folder = self._folders.take()
        except OSError as error:
            self._fail(f"no scratch folder can be made: {error}", probe=probe)
            return
        pid = 0
        try:
            with ChildWatch() as watch:
                pid = self._fork_in(folder, self._control, live)
                handle = watch.open(pid)
        except OSError as error:
            self._take_back(folder, pid)
            self._fail(f"no process can be started: {error}", probe=probe)
            return
        self._kernels[handle] = (self._count, pid, probe, folder)
        self._poll.register(handle, select.POLLIN)

    def _take_back(self, folder: ScratchFolder, pid: int) -> None:
        """Undo what was done for a kernel that could not be forked, or on which there is no handle."""
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._folders.leave(folder)
        else:
            self._folders.give_back(folder)

    def _fail(self, reason: str, *, probe: bool) -> None:
        """Tell the server that there is no kernel, and why; those that there are go on."""
        print(reason, file=sys.stderr, flush=True)  # noqa: T201 - to the server
        self._tell({"ended": self._count, "status": 70 << 8, "probe": probe, "folder": _NONE, "unused": False})

    def _fork_in(self, folder: ScratchFolder, control: MessageSocket, live: _Live) -> int:
        start = child.KernelStart(self._count, folder, control, self._pid, self._confinement, self._unpinned)
        pid = self._confinement.fork()
        if pid == 0:
            try:
                if not self._confined:
                    os.setpgid(0, 0)
                    _adopt_orphans()
                live(start)
            except BaseException:  # noqa: BLE001 - the edge: what it prints is the only clue to a kernel that cannot start
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(70)
        self._folders.lend(folder)
        return pid

    def end_kernels(self) -> None:
        """Kill every kernel and wait until it is gone, so that none writes any more; free what they wrote."""
        for _, pid, _, _ in self._kernels.values():
            os.kill(pid, signal.SIGKILL)  # a child cannot lose its number before it is reaped
            self._wait_for(pid)
        self._kernels.clear()
        self._end_orphans()
        for name in os.listdir(self._scratch_root):
            self._confinement.release_folder(os.path.join(self._scratch_root, name))

    def _reap(self, handle: int) -> None:
        number, pid, probe, folder = self._kernels.pop(handle)
        self._poll.unregister(handle)
        os.close(handle)
        status = self._wait_for(pid)
        self._end_orphans()
        unused = self._folders.leave(folder)
        self._tell({"ended": number, "status": status, "probe": probe, "folder": folder.name, "unused": unused})
        self._used = True

    def _wait_for(self, pid: int) -> int:
        """Return the status of a dead kernel; its group dies with it, for systems on which nobody adopts orphans."""
        if not self._confined:
            kill(-pid)  # before it is reaped: until then no other group can have its number
        return os.waitpid(pid, 0)[1]

    def _pin(self, pages: PinnedPages) -> None:
        """Let forks copy at once what kernels write to, as one shows that lives a whole life for us alone."""
        self._pages = None
        try:
            folder = self._folders.take()
        except OSError:
            pages.close()
            return
        try:
            self._unpinned = not pages.pin_written(lambda control: self._fork_in(folder, control, self._lives.run))
        except OSError:  # no process could be started
            pages.close()
            self._folders.give_back(folder)
            return
        if self._folders.leave(folder):
            self._folders.use_again([folder.name])
        else:
            self._confinement.release_folder(folder.path)
            os.rmdir(folder.path)

    def _end_orphans(self) -> None:
        """End the processes that a dead kernel has started; those of a living one are below it, orphans too."""
        if not self._confined:
            from ot_guardian import end_children  # noqa: PLC0415 - see `_adopt_orphans`

            end_children({pid for _, pid, _, _ in self._kernels.values()})

    def _tell(self, message: ZygoteReport) -> None:
        self._control.send_message(json.dumps(message).encode())


def main(control_fd: int, settings: ZygoteSettings, load: Callable[[MessageSocket], Lives] | None = None) -> None:
    """Run as the whole program of the zygote's process; `load` loads what another engine needs, or refuses runs."""
    control = MessageSocket(fileno=fcntl.fcntl(control_fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD))
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
    alone = load is None  # nothing else holds the code
    confinement = build_confinement(allowance, off=not confined, needed=alone, system=settings["system"])
    pages = open_pages() if settings["pin_pages"] else None
    copy_tables()
    confinement.share()
    if not confined:
        _adopt_orphans()
    child.prepare_process(guarded=confinement.guards_calls)
    lives = Lives() if load is None else load(control)
    gc.collect()
    gc.freeze()
    gc.disable()
    zygote = Zygote(control, settings["scratch"], confinement, pages, confined=confined, lives=lives)
    try:
        zygote.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server died; nobody else will clear its scratch folders
    zygote.end_kernels()
    _remove_scratch(settings["scratch"])
    os._exit(0)  # the server waits, and an interpreter that takes itself apart takes longer than all the rest


def _remove_scratch(root: str) -> None:
    """Remove the folder of all scratch folders, which are empty where each was a file system of its own."""
    try:
        for name in os.listdir(root):
            os.rmdir(os.path.join(root, name))
        os.rmdir(root)
    except OSError:
        import shutil  # noqa: PLC0415 - only now: it would be copied into every kernel

        shutil.rmtree(root, ignore_errors=True)


def _adopt_orphans() -> None:
    from ot_guardian import adopt_orphans  # noqa: PLC0415 - only unconfined kernels have orphans; others start sooner

    adopt_orphans()


def _reserve_kernel_descriptors(control_fd: int) -> None:
    """Keep the low numbers for what each kernel puts there, so that a kernel overwrites nothing of the zygote's."""
    os.close(control_fd)
    while (fd := os.open(os.devnull, os.O_RDONLY)) < FIRST_FREE_FD:
        pass
    os.close(fd)
