"""The text of a file: its encoding and line ends, and edits by what stands there or by line.

What cannot be found is answered with what is near.
"""

from __future__ import annotations

import codecs
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles, AnyPath
from ot.files.walk import Version, version_of
from ot_packs.unified_diff import split_at_line_feeds

SAMPLE = 64 * 1024  # bytes of a file that tell its encoding

_MARKS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Of what Python knows, those that files are written in. Others are no text, or take long for a hostile one.
_KNOWN = (
    "ascii", "utf-8", "utf-16", "utf-32", "cp", "iso8859", "koi8", "mac-", "shift_jis", "euc_", "gb", "big5", "hz",
)  # fmt: skip
MOST_BYTES = 50_000_000  # of a file that is edited: all of it is held
_LONGEST = 500  # characters of a line that are compared


def find_encoding(sample: bytes, *, whole: bool, named: str = "") -> tuple[str, bytes]:
    """Return the encoding of a file by its beginning, and its mark; what the caller names comes first."""
    # Without a mark, what is no UTF-8 is taken for the Western encoding of Windows, or else for Latin 1.
    mark, marked = next(((mark, name) for mark, name in _MARKS if sample.startswith(mark)), (b"", ""))
    if named:
        name = known_encoding(named)
        return name, mark if name == marked else b""
    if marked:
        return marked, mark
    if _decodes(sample, "utf-8", whole=whole):
        return "utf-8", b""
    return ("cp1252" if _decodes(sample, "cp1252", whole=whole) else "iso8859-1"), b""


def known_encoding(name: str) -> str:
    """Return Python's own name of an encoding; raises ToolError."""
    try:
        found = codecs.lookup(name).name if len(name) <= 40 else ""
    except LookupError:
        found = ""
    if not found.startswith(_KNOWN):
        raise ToolError(f"there is no encoding {name[:40]!r}; try utf-8, utf-16, cp1252 or shift_jis")
    return found


def is_binary(sample: bytes) -> bool:
    """True for what is no text: it holds null bytes, and no mark says that it may."""
    return b"\0" in sample and not sample.startswith(tuple(mark for mark, _ in _MARKS))


def find_newline(text: str) -> str:
    """Return the line end that most lines have."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def with_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def split_lines(text: str) -> list[str]:
    """Return lines without their ends; a line ends at a line feed only, as editors and git count."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _decodes(sample: bytes, encoding: str, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(sample, final=whole)
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class TextFile:
    """All of a text file, and what it takes to write it back."""

    text: str
    encoding: str
    mark: bytes
    newline: str
    version: Version

    def encode(self, text: str) -> bytes:
        """Return a text as the file would hold it; raises ToolError."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            raise ToolError(
                f"the file is encoded in {self.encoding}, which has no {letter!r}; "
                "write the whole file with file.write, which uses UTF-8"
            ) from error


@contextmanager
def open_text(files: AllowedFiles, path: AnyPath, *, encoding: str = "") -> Iterator[TextFile]:
    """Read all of a text file; raises ToolError where it holds no text, or too much."""
    # The file stays open as long as the block lasts, so that no other file gets its inode: versions can be compared.
    with os.fdopen(files.open(path), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_size > MOST_BYTES:
            raise ToolError(f"{path} has {status.st_size:,} bytes; files of up to {MOST_BYTES:,} can be edited")
        data = file.read(MOST_BYTES + 1)
        if not encoding and is_binary(data):
            raise ToolError(f"{path} is a binary file")
        name, mark = find_encoding(data, whole=True, named=encoding)
        try:
            text = data[len(mark) :].decode(name)
        except UnicodeDecodeError as error:
            raise ToolError(f"{path} is not encoded in {name}: {error.reason} at byte {error.start:,}") from error
        yield TextFile(text, name, mark, find_newline(text), version_of(status))


def replace_text(file: TextFile, old: str, new: str, *, count: int) -> str:
    """Return the text with all of `old` replaced, which must stand there `count` times; 0 is any number of times."""
    if not old:
        raise ToolError("old is empty; to insert lines, use file.edit_lines with end=start - 1")
    if old == new:
        raise ToolError("old and new are the same")
    if old not in file.text:
        old = with_newlines(old, file.newline)
    found = file.text.count(old)
    if not found:
        raise ToolError(f"nothing was changed: the file does not contain this text. {_word_nearest(file.text, old)}")
    if count and found != count:
        first = itertools.islice(re.finditer(re.escape(old), file.text), 10)
        places = ", ".join(str(file.text.count("\n", 0, match.start()) + 1) for match in first)
        raise ToolError(
            f"nothing was changed: the text is there {found} times, not {count} (lines {places}). "
            f"Pass more of the text around it, or count={found} to replace them all"
        )
    return file.text.replace(old, with_newlines(new, file.newline))


def replace_lines(file: TextFile, start: int, end: int, new: str) -> str:
    """Return the text with the lines from `start` to `end` replaced; where `end` is `start - 1`, lines are inserted."""
    lines = split_at_line_feeds(file.text)
    if not 1 <= start <= len(lines) + 1 or not start - 1 <= end <= len(lines):
        raise ToolError(
            f"the file has {len(lines)} lines, so start must be between 1 and {len(lines) + 1}, and end between "
            f"start - 1 (to insert) and {len(lines)}"
        )
    inserted = with_newlines(new, file.newline)
    before, after = "".join(lines[: start - 1]), "".join(lines[end:])
    if inserted and before and not before.endswith("\n"):
        before += file.newline
    if inserted and not inserted.endswith("\n") and after:
        inserted += file.newline
    return before + inserted + after


def _word_nearest(text: str, wanted: str) -> str:
    lines = split_lines(text)[:20_000]  # lines that are searched for what is near
    sought = next((line for line in split_lines(wanted) if line.strip()), wanted)
    alike = _find_alike(lines, split_lines(wanted))
    if alike is not None:
        return f"It differs only in white space from the text at line {alike + 1}: {_show(lines[alike])}"
    near = process.extract(
        sought.strip()[:_LONGEST],
        [line.strip()[:_LONGEST] for line in lines],
        scorer=fuzz.ratio,
        limit=3,
        score_cutoff=60,  # of 100
    )
    if not near:
        return "No line is similar; read the file again"
    shown = "; ".join(f"line {index + 1}: {_show(lines[index])}" for _, _, index in near)
    return f"The nearest lines to {_show(sought)} are {shown}"


def _find_alike(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return where the wanted lines stand, but for white space."""
    sought = ["".join(line.split()) for line in wanted]
    if not any(sought):
        return None
    bare = ["".join(line.split()) for line in lines]
    starts = (index for index, line in enumerate(bare) if line == sought[0])
    return next((index for index in starts if bare[index : index + len(sought)] == sought), None)


def _show(line: str) -> str:
    return repr(line if len(line) <= 200 else f"{line[:200]}…")
