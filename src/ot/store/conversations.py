"""Conversations with the assistant on one machine: a file of lines for each, of mode 0600, in one folder.

Plain writes, which outlive a `kill -9`; half a line at the end of a file was never written. Nothing is made before the
first line, and nothing is found by anybody but its owner.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcp_core.file_lock import try_lock
from mcp_core.json_types import JsonObject
from mcp_core.private_files import make_private
from ot.store.owned_files import append_whole, prune, read_whole
from ot.store.owner import Owner, digest_of_owner

CONVERSATIONS_FOLDER = "conversations"
MOST_FILES = 1000
_FORM = 1  # of the file; one of another form is left alone
_NAME = re.compile(r"(?P<owner>[0-9a-f]{32})\.(?P<id>c[0-9a-f]{8})\.jsonl")
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class FoundConversation(NamedTuple):
    """A conversation: its name, when something was last said in it, and its lines."""

    id: str
    written: float
    lines: list[JsonObject]


class Conversations:
    """All conversations of all owners; those too old, too many or too large together are removed before another."""

    def __init__(self, folder: Path, *, keep_for: float, max_size: int) -> None:
        self._folder = folder
        self._keep_for = keep_for
        self._max_size = max_size

    def begin(self, owner: Owner) -> OpenConversation:
        """Begin a conversation; its file is made with its first line."""
        return OpenConversation(self, owner, f"c{secrets.token_hex(4)}")

    def go_on(self, owner: Owner, conversation: str) -> OpenConversation:
        """Open a conversation to add to it; raises BlockingIOError where another process does, or OSError."""
        found = OpenConversation(self, owner, conversation)
        found.claim()
        return found

    def read(self, owner: Owner) -> Iterator[FoundConversation]:
        """Yield the conversations of an owner, the one that was last added to first; each is read in its turn."""
        found: list[tuple[float, str, Path]] = []
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                name = _NAME.fullmatch(entry.name)
                if name is not None and name["owner"] == digest_of_owner(owner):
                    with suppress(FileNotFoundError):  # another process removes old ones
                        found.append((entry.stat(follow_symlinks=False).st_mtime, name["id"], Path(entry.path)))
        for written, conversation, file in sorted(found, reverse=True):
            if (lines := _read(file)) is not None:
                yield FoundConversation(conversation, written, lines)

    def file_of(self, owner: Owner, conversation: str) -> Path:
        return self._folder / f"{digest_of_owner(owner)}.{conversation}.jsonl"

    def make_room(self) -> None:
        """Make the folder, and remove what is too much in it; raises OSError where others fill it."""
        make_private(self._folder)
        if prune(self._folder, _NAME.fullmatch, self._keep_for, self._max_size, MOST_FILES) > self._max_size:
            raise OSError(errno.EDQUOT, "the conversations have reached their maximum size (ai.conversations.max_size)")


class OpenConversation:
    """A conversation that this process adds to; it is claimed, so that no other process does."""

    def __init__(self, store: Conversations, owner: Owner, conversation: str) -> None:
        self.id = conversation
        self._store = store
        self._owner = owner
        self._descriptor: int | None = None

    def append(self, line: JsonObject) -> None:
        """Add a line; raises OSError where it cannot be kept."""
        if self._descriptor is None or "question" in line:
            self._store.make_room()
        if self._descriptor is None:
            file = self._store.file_of(self._owner, self.id)
            self._descriptor = os.open(file, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._descriptor)
            self._write({"form": _FORM, "principal": self._owner.principal, "project": str(self._owner.project)})
        self._write(line)

    def claim(self) -> None:
        """Open the file of a conversation that exists, for this process alone, and remove half a line at its end."""
        descriptor = os.open(self._store.file_of(self._owner, self.id), _FLAGS)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
        self._descriptor = descriptor
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        os.ftruncate(descriptor, content.rfind(b"\n") + 1)

    def close(self) -> None:
        """Let others add to it; it may be opened again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, line: JsonObject) -> None:
        assert self._descriptor is not None
        data = json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"
        append_whole(self._descriptor, data, os.fstat(self._descriptor).st_size)


def _read(file: Path) -> list[JsonObject] | None:
    """Read the lines of a file; None if it is not of our form or has gone. A line that makes no sense is left out."""
    try:
        content = read_whole(file)
    except OSError:
        return None
    lines: list[JsonObject] = []
    for text in content.split(b"\n")[:-1]:
        with suppress(ValueError, RecursionError):
            if isinstance(line := json.loads(text), dict):
                lines.append(line)
    return lines[1:] if lines and lines[0].get("form") == _FORM else None
