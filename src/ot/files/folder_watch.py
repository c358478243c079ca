"""FolderWatch: tells whether anything has changed in folders since they were gone through.

The system is asked to note changes, and its notes are never read one by one: the first means that the folders
have to be gone through again. Where it cannot note them, and after a while in any case, nothing is called unchanged:
changes that another machine makes to a shared folder are not noted.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path

from ot_system import ChangeNotes

_LONGEST = 60.0  # seconds for which the notes are believed
_MOST_FOLDERS = 20_000


class FolderWatch:
    """The watch over the folders of one walk; each is added before it is listed."""

    def __init__(self) -> None:
        self._notes = ChangeNotes()
        self._whole: bool = self._notes.works
        self._folders = 0
        self._since = time.monotonic()

    def add(self, folder: int, name: str = ".") -> None:
        """Watch one more folder: one in an open folder, or that itself."""
        self._folders += 1
        if self._whole and self._folders <= _MOST_FOLDERS:
            self._notes.add(folder, name)
            self._whole = self._notes.works
        else:
            self._whole = False

    @property
    def quiet(self) -> bool:
        """True if certainly nothing has changed."""
        if not self._whole or time.monotonic() - self._since > _LONGEST:
            return False
        self._whole = self._notes.is_empty()
        return self._whole

    def close(self) -> None:
        self._whole = False
        self._notes.close()


_MOST = 8  # folders that are watched at a time


class FolderWatches:
    """The watches of this process, by the folder that was gone through; of many, those used last."""

    def __init__(self) -> None:
        self._watches: OrderedDict[Path, FolderWatch] = OrderedDict()
        self._lock = threading.Lock()

    def is_quiet(self, folder: Path) -> bool:
        """True if nothing below a folder has changed since its watch was kept."""
        with self._lock:
            watch = self._watches.get(folder)
            if watch is None:
                return False
            self._watches.move_to_end(folder)
            return watch.quiet

    def keep(self, folder: Path, watch: FolderWatch) -> None:
        """Keep the watch of a walk that is complete, in place of an earlier one."""
        with self._lock:
            earlier = self._watches.pop(folder, None)
            self._watches[folder] = watch
            left = [self._watches.popitem(last=False)[1]] if len(self._watches) > _MOST else []
        for each in (earlier, *left):
            if each is not None:
                each.close()

    def close(self) -> None:
        with self._lock:
            for watch in self._watches.values():
                watch.close()
            self._watches.clear()
