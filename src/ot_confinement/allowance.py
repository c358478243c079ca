"""The allowance of a process, as a value."""

from __future__ import annotations

from ot_confinement.named_tuples import NamedTuple


class Allowance(NamedTuple):
    """Everything that a process may touch; a folder stands for all that is in it. Sizes are bytes.

    `files` are single ones that it may read, by real paths: one that leads through a link is not opened. `programs`
    are the only ones that it may execute; None is whatever it may read. `closed` stay shut in folders that are open.
    `written` are single ones that it may write, by real paths like `files`.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    memory: int
    file_size: int
    open_files: int
    network: bool = False
    files: tuple[str, ...] = ()
    scratch: int = 0  # of its own folder, where that can be a file system of its own
    scratch_files: int = 0
    programs: tuple[str, ...] | None = None
    closed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
