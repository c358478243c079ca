"""Pages: one file with what was learnt of the tools of one server or extension, shared by all of a person's servers."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_core.atomic_write import open_folder, write_private
from mcp_core.file_lock import lock
from ot.logs import write_log
from ot.registry.open_results import digest_of
from ot.shapes.shape import NOTHING, Shape, merge, within_bounds
from ot.shapes.stored import restore, store
from ot.store.forms import FORM, check_form

MOST_TOOLS = 300  # of one page; those that were not called for the longest time are forgotten
_MOST_BYTES = 8 * 1024 * 1024
_FORM = 1  # of the file; one of another form is ignored
_PATIENCE = 5.0  # seconds for other servers
_STALE = 180 * 24 * 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is known of the values of one tool, in the version that gave them."""

    version: str
    seen: int = 0
    shape: Shape = NOTHING

    def with_more(self, more: Learnt) -> Learnt:
        """Return what both know; another version begins afresh."""
        if more.version != self.version:
            return more
        return Learnt(self.version, self.seen + more.seen, within_bounds(merge(self.shape, more.shape)))


Page = Mapping[str, Learnt]
"""What is known of the tools of one place, by their own names."""


@dataclass(frozen=True, slots=True)
class Pages:
    """One file per person and place, in one folder."""

    folder: Path

    def state(self, principal: str, place: str) -> tuple[int, ...]:
        """Return a state that changes with the page; at the cost of a `stat`."""
        try:
            status = self._file(principal, place).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size

    def read(self, principal: str, place: str) -> Page:
        """Read a page; one that cannot be used is as good as none."""
        file = self._file(principal, place)
        try:
            if file.stat().st_size > _MOST_BYTES:
                raise ValueError("it is too large")
            return _read_page(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            write_log(logging.WARNING, "shapes.read", ignored=file, reason=str(error))
            return {}

    def add(self, principal: str, place: str, more: Page) -> None:
        """Add to a page what was learnt since; blocking. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open_folder(self.folder) as folder:
            lock(folder, patience=_PATIENCE)  # whoever holds it for longer is stuck, and loses at most an example
            tools = dict(self.read(principal, place))
            for name, learnt in more.items():
                known = tools.pop(name, None)
                tools[name] = learnt if known is None else known.with_more(learnt)
            newest = dict(list(tools.items())[-MOST_TOOLS:])
            write_private(self._file(principal, place), _as_text(newest))

    def forget_unused(self) -> None:
        """Remove the pages of servers that nobody has called for half a year."""
        with suppress(OSError):
            for file in self.folder.glob("*.json"):
                if time.time() - file.stat().st_mtime > _STALE:
                    file.unlink(missing_ok=True)

    def _file(self, principal: str, place: str) -> Path:
        return self.folder / f"{digest_of(principal, place)}.json"


def _as_text(page: Page) -> str:
    tools = {
        name: {"version": learnt.version, "seen": learnt.seen, "shape": store(learnt.shape)}
        for name, learnt in page.items()
    }
    return json.dumps({FORM: _FORM, "tools": tools}, separators=(",", ":"))


def _read_page(found: object) -> Page:
    tools = check_form(found, _FORM)["tools"]
    return {
        name: Learnt(str(tool["version"]), max(int(tool["seen"]), 1), restore(tool["shape"]))
        for name, tool in list(tools.items())[:MOST_TOOLS]
    }
