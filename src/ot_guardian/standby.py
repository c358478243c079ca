"""The standby: a process with everything loaded, which forks a guardian whenever its server asks for one.

An order is one message on its control socket, with descriptors: a file that holds the environment and the words of the
order, the three streams, the ledger, the folder to be in, and what else the child is given. The answer is the number of
the guardian with a pidfd; 0 if there is none. The other kind of order has only the file, which names modules.

It has one thread, because a fork copies only one, and keeps nothing of an order: what is in it is known to the process
that was forked for it alone.

When the server closes its end, or ends, it waits for its last guardian and ends too.
"""

from __future__ import annotations

import _socket
import gc
import os
import select
import struct

from ot_guardian.guardian import become, divide
from ot_guardian.ledger import Ledger

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Live = Callable[[list[str], Ledger, list[int]], None]
    Load = Callable[[str], None]

BEGIN, LOAD = b"b", b"l"  # the kinds of orders
ANSWER = struct.Struct("<i")
_GIVEN = 6  # descriptors of an order to begin a process
_MOST = 16  # descriptors of one order
_FAILED = 70  # the exit status of a process that did not become a guardian


class Standby:
    """Answers orders until the server goes away. `live` is what a process does that has its streams; `load` imports."""

    def __init__(self, control: int, live: Live, load: Load) -> None:
        self._control = _socket.socket(fileno=control)
        self._live = live
        self._load = load
        self._guardians: dict[int, int] = {}  # by their pidfds
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> None:
        """Return when the server is gone, and so is every guardian."""
        import ot_confinement.program  # noqa: F401, PLC0415 - loaded here, once for all that it forks
        import ot_guardian.bounds  # noqa: F401, PLC0415

        os.set_inheritable(self._control.fileno(), False)
        gc.freeze()
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor != self._control.fileno():
                    self._reap(descriptor)
                elif not self._obey():
                    for pidfd in list(self._guardians):
                        self._reap(pidfd)
                    return

    def _obey(self) -> bool:
        """Carry out one order; false if there is nobody any more to give one."""
        message, descriptors = self._receive()
        if not message:
            return False
        try:
            if message == LOAD:
                for name in _read_order(descriptors[0])[1]:
                    self._load(name)
                gc.collect()
                gc.freeze()
                self._answer(0)
            else:
                self._begin(descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _begin(self, descriptors: list[int]) -> None:
        try:
            if len(descriptors) < _GIVEN or len(os.listdir("/proc/self/task")) > 1:
                raise OSError
            pid = os.fork()
        except OSError:
            self._answer(0)
            return
        if pid == 0:
            try:
                self._become_guardian(descriptors)
            finally:
                os._exit(_FAILED)
        pidfd = os.pidfd_open(pid)
        self._guardians[pidfd] = pid
        self._poll.register(pidfd, select.POLLIN)
        self._answer(pid, pidfd)

    def _become_guardian(self, descriptors: list[int]) -> None:
        self._control.close()
        for pidfd in self._guardians:
            os.close(pidfd)
        os.setsid()
        order, stdin, stdout, stderr, ledger, folder, *others = descriptors
        for standard, stream in enumerate((stdin, stdout, stderr)):
            os.dup2(stream, standard)
            os.close(stream)
        environ, words = _read_order(order)
        os.environb.clear()
        os.environb.update(environ)
        os.fchdir(folder)
        os.close(folder)
        os.close(order)
        self._live(words, Ledger(ledger), others)

    def _receive(self) -> tuple[bytes, list[int]]:
        size = struct.calcsize("i")
        message, ancillary, _, _ = self._control.recvmsg(1, _socket.CMSG_SPACE(_MOST * size), _socket.MSG_CMSG_CLOEXEC)
        received = b"".join(content[: len(content) // size * size] for _, _, content in ancillary)
        return message, [number for (number,) in struct.iter_unpack("i", received)]

    def _answer(self, pid: int, pidfd: int | None = None) -> None:
        handed = [] if pidfd is None else [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", pidfd))]
        try:
            self._control.sendmsg([ANSWER.pack(pid)], handed)
        except OSError:
            pass  # the server is gone, which is seen next

    def _reap(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.waitpid(self._guardians.pop(pidfd), 0)
        os.close(pidfd)


def write_order(environ: Mapping[str, str], words: Iterable[str]) -> bytes:
    """Write an order in the form that is read here; raises ValueError for a null byte."""
    items = [*(f"{name}={value}" for name, value in environ.items()), "", *words]
    if any("\0" in item for item in items):
        raise ValueError("embedded null byte")
    return b"\0".join(map(os.fsencode, items))


def _read_order(file: int) -> tuple[dict[bytes, bytes], list[str]]:
    items = os.pread(file, os.fstat(file).st_size, 0).split(b"\0")
    end = items.index(b"")
    pairs = (item.partition(b"=") for item in items[:end])
    return {name: value for name, _, value in pairs}, [os.fsdecode(word) for word in items[end + 1 :]]


def stand_by(control: int) -> None:
    """Be the standby for programs, which are ordered by their words."""

    def live(words: list[str], ledger: Ledger, others: list[int]) -> None:
        confine, *command = words
        guarded_now = divide(ledger, confine=confine, command=command)
        os.dup2(others[0], 0)
        os.read(guarded_now, 1)
        become(command)

    def load(name: str) -> None:
        raise ValueError(f"no program needs {name}")

    Standby(control, live, load).serve()
