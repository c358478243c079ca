"""The standby: a process with everything loaded, which forks a guardian whenever its server asks for one.

An order is one message on its control socket, with descriptors: a file that holds the environment and the words of the
order, the three streams, the ledger, the folder to be in, and what else the child is given. The answer is the number of
the guardian with a handle on it; 0 if there is none. The other kind of order has only the file, which names modules.

It has one thread, because a fork copies only one, and keeps nothing of an order: what is in it is known to the process
that was forked for it alone.

When the server closes its end, or ends, it waits for its last guardian and ends too.
"""

from __future__ import annotations

import gc
import os
import select
import struct

from ot_guardian.guardian import become, divide
from ot_guardian.ledger import Ledger
from ot_system import ChildWatch, count_threads
from ot_system.sockets import MessageSocket

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
        self._control = MessageSocket(fileno=control)
        self._live = live
        self._load = load
        self._guardians: dict[int, int] = {}  # by the handles on them
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
                    for handle in list(self._guardians):
                        self._reap(handle)
                    return

    def _obey(self) -> bool:
        """Carry out one order; false if there is nobody any more to give one."""
        message, descriptors = self._control.receive_message(1, _MOST)
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
            if len(descriptors) < _GIVEN or count_threads() > 1:
                raise OSError
            with ChildWatch() as watch:
                pid = os.fork()
                if pid == 0:
                    try:
                        self._become_guardian(descriptors)
                    finally:
                        os._exit(_FAILED)
                handle = watch.open(pid)
        except OSError:
            self._answer(0)
            return
        self._guardians[handle] = pid
        self._poll.register(handle, select.POLLIN)
        self._answer(pid, handle)

    def _become_guardian(self, descriptors: list[int]) -> None:
        self._control.close()
        for handle in self._guardians:
            os.close(handle)
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

    def _answer(self, pid: int, *handle: int) -> None:
        try:
            self._control.send_message(ANSWER.pack(pid), handle)
        except OSError:
            pass  # the server is gone, which is seen next

    def _reap(self, handle: int) -> None:
        self._poll.unregister(handle)
        os.waitpid(self._guardians.pop(handle), 0)
        os.close(handle)


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
