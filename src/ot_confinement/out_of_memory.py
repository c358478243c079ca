"""Who goes first when memory runs out: the processes that are forked here, and never the one that forks them."""

from __future__ import annotations

import os

_FIRST = b"1000"


class OomPriority:
    """Forks processes that ask to be killed before everybody else.

    They inherit it from their parent, which asks for itself until they are there: asking by its own name takes each
    of them as long as all its other layers.
    """

    def __init__(self) -> None:
        self._own = b""
        try:
            self._file = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            self._file = -1  # it is only advice, and containers may refuse it
        else:
            self._own = os.pread(self._file, 16, 0)

    def fork(self) -> int:
        """Fork as `os.fork` does."""
        if self._file < 0:
            return os.fork()
        self._ask(_FIRST)
        try:
            pid = os.fork()
        except BaseException:
            self._ask(self._own)
            raise
        if pid:
            self._ask(self._own)
        return pid

    def _ask(self, score: bytes) -> None:
        try:
            os.pwrite(self._file, score, 0)
        except OSError:
            pass
