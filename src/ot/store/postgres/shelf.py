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
from ot.store.shelf import PLAIN_NAME, Change, FolderShelf, check_document

_RECENT = 3.0  # seconds for which copies count as up to date
_ATTEMPTS = 20  # at changing a document that others change too
_INSERT = "INSERT INTO shelf (principal, name, digest, content) VALUES ($1, $2, $3, $4)"
_CHANGE = "SET digest = $3, content = $4, changed = now()"
_REPLACE = f"UPDATE shelf {_CHANGE} WHERE principal = $1 AND name = $2 AND digest = $5 RETURNING true"


@dataclass(slots=True)
class _Copies:
    """The folder of copies, which all parts of one shelf share."""

    folder: Path
    lock: threading.Lock = field(default_factory=threading.Lock)  # of whoever writes rows and copies
    looked: float = 0.0


class PostgresShelf:
    """Documents whose names begin with a prefix; raises StoreUnavailableError where something is to be written."""

    def __init__(self, link: PostgresLink, principal: str, folder: Path) -> None:
        self._link = link
        self._principal = principal
        self._copies = _Copies(folder)
        self._prefix = ""
        self._near = FolderShelf(folder)

    @property
    def folder(self) -> Path:
        return self._near.folder

    def below(self, name: str) -> PostgresShelf:
        part = PostgresShelf(self._link, self._principal, self._copies.folder)
        part._copies, part._prefix, part._near = self._copies, f"{self._prefix}{name}/", self._near.below(name)
        return part

    # -- reading copies

    def state(self, name: str) -> tuple[int, ...]:
        return self._near.state(name)

    def read(self, name: str) -> bytes:
        return self._near.read(name)

    def catch_up(self, *, at_once: bool = True) -> None:
        """Bring the copies up to date; blocking. If not `at_once`, only if nobody did so a moment ago."""
        copies = self._copies
        with copies.lock:
            if not at_once and time.monotonic() - copies.looked < _RECENT:
                return
            rows = self._link.fetch_now("SELECT name, digest FROM shelf WHERE principal = $1", self._principal)
            wanted = {name: digest for name, digest in rows if PLAIN_NAME.fullmatch(name)}
            whole = FolderShelf(copies.folder)
            held = dict.fromkeys(_list(copies.folder), "")
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
        """True if the copies were brought up to date a moment ago."""
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
                    FolderShelf(self._copies.folder).write(known, content)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            self._near.write(name, data)

    def update(self, name: str, change: Change) -> None:
        with self._copies.lock:
            for _ in range(_ATTEMPTS):
                found = self._fetch([self._prefix + name]).get(self._prefix + name)
                data = change(found)
                if data == found or self._swap(name, found, data):
                    self._near.write(name, data)
                    return
        raise OSError(errno.EAGAIN, "others keep changing it; try again")

    def remove(self, name: str) -> None:
        statement = "DELETE FROM shelf WHERE principal = $1 AND name = $2"
        with self._copies.lock:
            self._link.fetch_now(statement, self._principal, self._prefix + name)
            self._near.remove(name)

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


def _list(folder: Path) -> list[str]:
    return [str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and file.name[:1] != "."]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
