"""FolderWatch: tells whether anything has changed in folders since they were gone through.

The kernel is asked to note changes (inotify), and its notes are never read one by one: the first means that the folders
have to be gone through again. Where it cannot note them, and after a while in any case, nothing is called unchanged:
changes that another machine makes to a shared folder are not noted.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from pathlib import Path

_LONGEST = 60.0  # seconds for which the notes are believed
_MOST_FOLDERS = 20_000
_CHANGES = 0x00000002 | 0x00000004 | 0x000000C0 | 0x00000300 | 0x00000C00  # content, mode, names, and the folder's own
_ONLY_FOLDERS = 0x01000000 | 0x02000000  # and no links


class FolderWatch:
    """The watch over the folders of one walk; each is added before it is listed."""

    def __init__(self) -> None:
        import ctypes  # noqa: PLC0415 - start-up path: every engine has watches, few watch a folder

        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._whole = self._descriptor >= 0
        self._folders = 0
        self._since = time.monotonic()

    def add(self, folder: int, name: str = ".") -> None:
        """Watch one more folder: one in an open folder, or that itself."""
        self._folders += 1
        if self._whole and self._folders <= _MOST_FOLDERS:
            place = os.fsencode(f"/proc/self/fd/{folder}/{name}")
            self._whole = self._library.inotify_add_watch(self._descriptor, place, _CHANGES | _ONLY_FOLDERS) >= 0
        else:
            self._whole = False

    @property
    def quiet(self) -> bool:
        """True if certainly nothing has changed."""
        if not self._whole or time.monotonic() - self._since > _LONGEST:
            return False
        try:
            os.read(self._descriptor, 4096)
        except BlockingIOError:
            return True
        except OSError:
            pass
        self._whole = False
        return False

    def close(self) -> None:
        self._whole = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


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
