"""A page of memory that a process and its server share: which calls have begun, and how the process ended.

It can be read when the process is dead, however it died; nothing has to be sent for it while the process lives.
"""

from __future__ import annotations

import os
import struct

VARIABLE = "OT_GUARDIAN_LEDGER"
"""The environment variable that names the descriptor."""

_ENTRY = struct.Struct("<q")
_WORDS = 1 << 20  # where the explanation begins, far behind all slots
_MOST_WORDS = 2000  # bytes
_SLOTS = 4096


class Ledger:
    """Entry 0 is the status of waitpid plus one; entry 1 + slot is the number of the last call that began there."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def begin(self, slot: int, number: int) -> None:
        """Note that the call is being carried out from now on."""
        os.pwrite(self.descriptor, _ENTRY.pack(number), _ENTRY.size * (slot + 1))

    def has_begun(self, slot: int, number: int) -> bool:
        """True if the process came to carry out this call."""
        return self._read(slot + 1) == number

    def begun(self) -> list[int]:
        """The number of the last call that began in each slot, 0 for none; as far as slots are usually in use."""
        entries = os.pread(self.descriptor, _ENTRY.size * _SLOTS, _ENTRY.size)
        return [number for (number,) in _ENTRY.iter_unpack(entries[: len(entries) // _ENTRY.size * _ENTRY.size])]

    def end(self, status: int) -> None:
        os.pwrite(self.descriptor, _ENTRY.pack(status + 1), 0)

    def status(self) -> int | None:
        """The status that waitpid gave, None if it was not recorded."""
        return self._read(0) - 1 if self._read(0) else None

    def explain(self, words: str) -> None:
        """Note why it was ended, or never begun, as the rest of a sentence that begins with its name."""
        os.pwrite(self.descriptor, words.encode(errors="replace")[:_MOST_WORDS], _WORDS)

    def explanation(self) -> str:
        """The reason that `explain` noted; empty if it ended by itself."""
        return os.pread(self.descriptor, _MOST_WORDS, _WORDS).decode(errors="replace")

    def _read(self, index: int) -> int:
        entry = os.pread(self.descriptor, _ENTRY.size, _ENTRY.size * index)
        number: int = _ENTRY.unpack(entry)[0] if len(entry) == _ENTRY.size else 0
        return number


def inherit_ledger(*, share: bool = False) -> Ledger:
    """The ledger that this process was started with; what it starts itself does not get it, unless `share`."""
    if share:
        return Ledger(int(os.environ[VARIABLE]))
    ledger = Ledger(int(os.environ.pop(VARIABLE)))
    os.set_inheritable(ledger.descriptor, False)
    return ledger
