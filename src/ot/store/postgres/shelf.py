"""The shelf of one person in PostgreSQL: a row for each document, and copies of them in a folder of this machine.

The rows are the truth, and written first. Copies are read, so that reading needs no database; they are brought up to
date when the shelf is opened, with each document that is written here, and from time to time while it is used.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from contextlib import suppress
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.store.postgres.link import PostgresLink
from ot.store.shelf import PLAIN_NAME, Change, Shelf, check_document

_RECENT = 3.0  # seconds for which copies count as up to date
_ATTEMPTS = 20  # at changing a document that others change too
_INSERT = "INSERT INTO shelf (principal, name, digest, content) VALUES ($1, $2, $3, $4)"
_CHANGE = "SET digest = $3, content = $4, changed = now()"
_REPLACE = f"UPDATE shelf {_CHANGE} WHERE principal = $1 AND name = $2 AND digest = $5 RETURNING true"


@dataclass(slots=True)
class _Copies:
    """The folder of copies, which all parts of one shelf share."""

    whole: Shelf
    lock: threading.Lock = field(default_factory=threading.Lock)  # of whoever writes rows and copies
    looked: float = 0.0


class PostgresShelf(Shelf):
    """Documents whose names begin with a prefix; raises StoreUnavailableError where something is to be written."""

    def __init__(self, link: PostgresLink, principal: str, folder: Path) -> None:
        super().__init__(folder)
        self._link = link
        self._principal = principal
        self._copies = _Copies(Shelf(folder))
        self._prefix = ""

    def below(self, name: str) -> PostgresShelf:
        part = PostgresShelf(self._link, self._principal, self.folder / name)
        part._copies, part._prefix = self._copies, f"{self._prefix}{name}/"
        return part

    # -- reading copies

    def catch_up(self, *, at_once: bool = True) -> None:
        copies, whole = self._copies, self._copies.whole
        with copies.lock:
            if not at_once and self.is_recent():
                return
            rows = self._link.fetch_now("SELECT name, digest FROM shelf WHERE principal = $1", self._principal)
            wanted = {name: digest for name, digest in rows if PLAIN_NAME.fullmatch(name)}
            files = [file for file in whole.folder.rglob("*") if file.is_file() and file.name[:1] != "."]
            held = {str(file.relative_to(whole.folder)): "" for file in files}
            for name in held:
                with suppress(OSError):
                    held[name] = _digest(whole.read(name))
            for name in held.keys() - wanted.keys():
                whole.remove(name)
            missing = [name for name, digest in wanted.items() if held.get(name) != digest]
            for name, content in self._fetch(missing).items():
                whole.write(name, content)
            copies.looked = time.monotonic()

    def is_recent(self) -> bool:
        return time.monotonic() - self._copies.looked < _RECENT

    def _fetch(self, names: list[str]) -> dict[str, bytes]:
        statement = "SELECT name, content FROM shelf WHERE principal = $1 AND name = ANY($2)"
        rows = self._link.fetch_now(statement, self._principal, names) if names else []
        return {row["name"]: row["content"] for row in rows}

    # -- writing rows, and then copies

    def write(self, name: str, data: bytes, *, replace: bool = True) -> None:
        row, conflict = self._row(name, data), f"DO UPDATE {_CHANGE}" if replace else "DO NOTHING"
        statement = f"{_INSERT} ON CONFLICT (principal, name) {conflict} RETURNING true"
        with self._copies.lock:
            if not self._link.fetch_now(statement, *row):
                for known, content in self._fetch([row[1]]).items():
                    self._copies.whole.write(known, content)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            super().write(name, data)

    def update(self, name: str, change: Change) -> None:
        with self._copies.lock:
            for _ in range(_ATTEMPTS):
                found = self._fetch([self._prefix + name]).get(self._prefix + name)
                data = change(found)
                if data == found or self._swap(name, found, data):
                    super().write(name, data)
                    return
        raise OSError(errno.EAGAIN, "others keep changing it; try again")

    def remove(self, name: str) -> None:
        statement = "DELETE FROM shelf WHERE principal = $1 AND name = $2"
        with self._copies.lock:
            self._link.fetch_now(statement, self._principal, self._prefix + name)
            super().remove(name)

    def forget_unused(self, pattern: str, *, seconds: float) -> None:
        old = "SELECT name FROM shelf WHERE principal = $1 AND changed < now() - make_interval(secs => $2)"
        for (name,) in self._link.fetch_now(old, self._principal, seconds):
            if name.startswith(self._prefix) and fnmatchcase(name.removeprefix(self._prefix), pattern):
                self.remove(name.removeprefix(self._prefix))

    def _swap(self, name: str, before: bytes | None, data: bytes) -> bool:
        """Write a document unless it is not what it was before; True if so."""
        row = self._row(name, data)
        if before is None:
            return bool(self._link.fetch_now(f"{_INSERT} ON CONFLICT DO NOTHING RETURNING true", *row))
        return bool(self._link.fetch_now(_REPLACE, *row, _digest(before)))

    def _row(self, name: str, data: bytes) -> tuple[str, str, str, bytes]:
        check_document(name, data)
        return self._principal, self._prefix + name, _digest(data), data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
