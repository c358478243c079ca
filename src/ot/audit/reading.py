"""The audit log as it lies in its folder: every line that is whole, and every sign that some are not as written.

Whatever is in the folder is taken for hostile: only plain files of the log's own names are read, a line at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mcp_core.json_types import JsonObject
from ot.audit.chain import CONTINUED, FORM_OF_LINES, REMOVED, START, unseal
from ot.store.forms import UnknownFormError, check_form
from ot.store.newest_lines import find_parts
from ot.store.owned_files import name_file, open_plain
from ot.store.parts import AUDIT_ENDING

LONGEST_LINE = 64 * 1024  # bytes; ours are far below


class AuditEntry(NamedTuple):
    """A line that is as it was written, and the name of its chain."""

    chain: str
    fields: JsonObject


class Finding(NamedTuple):
    """Something odd about a file; `line` is 0 where it is about all of it. Harmless ones have an honest cause."""

    file: str
    line: int
    reason: str
    harmless: bool = False


class Chain(NamedTuple):
    """The files that one engine wrote, by their part."""

    name: str
    files: dict[int, Path]


def find_chains(folder: Path) -> list[Chain]:
    """Find the chains in a folder, oldest first; a folder that does not exist has none. Raises OSError."""
    return [Chain(name, files) for name, files in find_parts(folder, AUDIT_ENDING).items()]


def walk(chain: Chain) -> Iterator[AuditEntry | Finding]:
    """Go through a chain from its oldest line on."""
    walker = _Walker(chain)
    for part, file in chain.files.items():
        yield from walker.visit(part, file)


class _Walker:
    """Compares each line with the one before it, across files."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._number = 0  # of the last line
        self._previous: str | None = ""  # its digest; None where that is not known
        self._part = 0
        self._file = ""

    def visit(self, part: int, file: Path) -> Iterator[AuditEntry | Finding]:
        self._file = file.name
        if part != self._part + 1:
            self._previous = None
            missing = _name(self._chain.name, part - 1)
            if self._part:
                yield Finding(self._file, 0, f"the file before it, {missing}, is missing")
            else:
                yield Finding(self._file, 0, f"files of this chain up to {missing} are gone: too old, or removed", True)
        self._part = part
        try:
            with open_plain(file) as descriptor, open(descriptor, "rb", closefd=False) as stream:
                yield from self._read(part, stream)
        except OSError as error:
            self._previous = None
            yield Finding(self._file, 0, f"cannot be read: {error.strerror}")

    def _read(self, part: int, stream: BinaryIO) -> Iterator[AuditEntry | Finding]:
        number = 0
        while raw := stream.readline(LONGEST_LINE):
            number += 1
            if not raw.endswith(b"\n"):
                yield self._unfinished(number, raw, last=part == max(self._chain.files))
                return
            entry, digest = unseal(raw)
            if entry is None:
                yield Finding(self._file, number, "this line was changed")
                self._number, self._previous = self._number + 1, digest
                continue
            try:
                if number == 1:
                    check_form(entry, FORM_OF_LINES, unnamed=1)
            except UnknownFormError as error:
                self._previous = None
                yield Finding(self._file, 1, str(error))
                return
            yield from self._compare(number, entry)
            if number == 1:
                yield from self._check_head(part, entry)
            self._number, self._previous = _whole(entry.get("n")), digest
            yield AuditEntry(self._chain.name, entry)
        if not number:
            yield Finding(self._file, 0, "is empty: all of its lines were removed")

    def _unfinished(self, number: int, raw: bytes, *, last: bool) -> Finding:
        if len(raw) == LONGEST_LINE:
            return Finding(self._file, number, "this line was changed: it is longer than any that is written")
        self._previous = None
        reason = "ends within this line: its process was killed, or the file was cut"
        return Finding(self._file, number, reason, harmless=last)

    def _compare(self, number: int, entry: JsonObject) -> Iterator[Finding]:
        found = _whole(entry.get("n"))
        if self._previous is None or entry.get("prev") == self._previous:
            return
        missing = found - self._number - 1
        if missing > 0:
            what = "a line was removed" if missing == 1 else f"{missing} lines were removed"
            yield Finding(self._file, number, f"{what} before this one")
        elif missing == 0 and number > 1:
            yield Finding(self._file, number - 1, "this line was replaced")
        else:
            yield Finding(self._file, number, "this line does not follow the one before it: it was moved or added")

    def _check_head(self, part: int, entry: JsonObject) -> Iterator[Finding]:
        event = START if part == 1 else CONTINUED
        if (entry.get("event"), entry.get("chain"), entry.get("part")) != (event, self._chain.name, part):
            yield Finding(self._file, 1, "does not begin as it was written: the first lines were removed")
        elif entry.get("because") == REMOVED:
            missing = _name(self._chain.name, part - 1)
            yield Finding(self._file, 1, f"{missing} was removed while its process wrote to it")


def _name(chain: str, part: int) -> str:
    return name_file(chain, part, AUDIT_ENDING)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
