"""FolderWatches: the folders that were gone through and are watched since, so that it need not be done again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ot.files.folder_watch import FolderWatch

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
        """Stop watching everything."""
        with self._lock:
            for watch in self._watches.values():
                watch.close()
            self._watches.clear()
