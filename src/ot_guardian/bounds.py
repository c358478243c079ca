"""The bounds of a guardian's child, from the side of the guardian: its folder, its way out, its memory.

Loaded only for a child that is confined; what the child itself gives up is in `ot_confinement.program`.
"""

from __future__ import annotations

import os
import warnings  # noqa: F401 - os.execvp loads it, when the child may no longer read it

from ot_confinement.confine import TEMPORARY, Confine, RefusedError, confine_from
from ot_guardian.ledger import Ledger
from ot_guardian.processes import clear_folder, end_with_parent, let_go_of
from ot_system import children_of, private_memory_of

TYPE_CHECKING = False  # typing itself takes longer to import than all of a guardian
if TYPE_CHECKING:
    import socket

REFUSED = 126  # the exit status of a child that was not begun


def new_folder_name() -> str:
    """Return a name for the temporary folder of a confined program, which nobody has had or can guess."""
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"onetool-{os.urandom(8).hex()}")


def set_bounds(confine: str, ledger: Ledger) -> Bounds:
    """Make the bounds that a text describes, or end this process if that is not possible."""
    try:
        return Bounds(confine_from(confine))
    except OSError as error:
        ledger.explain(f"cannot be confined: its temporary folder cannot be made: {error}")
        ledger.end(REFUSED << 8)
        os._exit(REFUSED)


class Bounds:
    """Made before the child is forked, so that both sides have it."""

    interval = 0.25  # seconds between two looks at its memory

    def __init__(self, confine: Confine) -> None:
        self.memory = confine.memory
        self._confine = confine
        self._guardian = os.getpid()
        self._folder = confine.folder or new_folder_name()
        os.mkdir(self._folder, 0o700)
        self.proxy: int | None = None  # the process that is its way out
        self._channel: socket.socket | None = None
        if confine.hosts and not confine.off:
            self._start_proxy()

    def _start_proxy(self) -> None:
        import socket  # noqa: PLC0415 - only where hosts are named

        theirs, ours = socket.socketpair()
        self.proxy = os.fork()
        if self.proxy:
            theirs.close()
            self._channel = ours
            return
        ours.close()
        from ot_confinement.host_proxy import serve_hosts  # noqa: PLC0415 - only where hosts are named

        let_go_of(0, 1, 2)
        end_with_parent()
        try:
            serve_hosts(theirs, self._confine.hosts)
        finally:
            os._exit(0)

    # -- the child

    def enter(self, ledger: Ledger) -> list[str]:
        """Confine the calling process, or end it if that is not possible.

        Returns the words that confine a command by standing before it, where this system cannot confine a process.
        """
        if self._confine.off:
            os.environ.update(dict.fromkeys(TEMPORARY, self._folder))
            return []
        from ot_confinement.program import confine_program  # noqa: PLC0415 - the guardian needs nothing of it

        try:
            return confine_program(self._confine, self._folder, parent=self._guardian, channel=self._channel)
        except RefusedError as error:
            otherwise = self._confine.otherwise
            ledger.explain(f"cannot be confined{'' if otherwise else ' as its `confine` says'}: {error}{otherwise}")
            os._exit(REFUSED)

    # -- the guardian

    def let_go(self) -> None:
        """Close what only the child needs."""
        if self._channel is not None:
            self._channel.close()

    def excess(self) -> str:
        """Say that all processes below this one together hold more memory than they may; empty while they do not."""
        if self.memory is None:
            return ""
        processes = [pid for pid in children_of(os.getpid()) if pid != self.proxy]
        for pid in processes:
            processes += children_of(pid)
        if sum(map(private_memory_of, processes)) <= self.memory:
            return ""
        return f"was ended because its processes used more memory than the {self.memory >> 20}m of its `confine`"

    def clear(self) -> None:
        """Remove its folder, whatever it has made of the rights in there; once all processes are gone."""
        clear_folder(self._folder)
