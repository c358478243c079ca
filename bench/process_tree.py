"""Memory and processor time of a process and of everything that it started, as Linux accounts for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def proportional_set_size(pid: int) -> int:
    """Bytes; a page that several processes share counts in parts."""
    return sum(_proportional_set_size(process) for process in [pid, *descendants(pid)])


def descendants(pid: int) -> list[int]:
    """Return the processes that one has started, and those that they have started."""
    children = [
        int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()
    ]
    return children + [deeper for child in children for deeper in descendants(child)]


def find_zygote(server: int) -> int:
    """Return the process that forks a server's kernels."""
    found = [pid for pid in descendants(server) if b"zygote.main" in _read(f"/proc/{pid}/cmdline")]
    return found[0]  # its kernels, which have its command line, come behind it


class Account(NamedTuple):
    """Processor time and page faults until now."""

    seconds: float  # Linux counts in nanoseconds, and shows hundredths of a second
    page_faults: int

    def since(self, before: Account) -> Account:
        return Account(self.seconds - before.seconds, self.page_faults - before.page_faults)


def read_accounts(pid: int) -> tuple[Account, Account]:
    """Return the account of a process, and the common one of all its children that have ended."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[7:15]
    faults, their_faults, _, _, user, system, their_user, their_system = map(int, fields)
    own = Account((user + system) / _TICKS_A_SECOND, faults)
    return own, Account((their_user + their_system) / _TICKS_A_SECOND, their_faults)


def _proportional_set_size(pid: int) -> int:
    lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:")), 0)


def _read(file: str) -> bytes:
    """Return nothing for a process that has ended meanwhile."""
    try:
        return Path(file).read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
