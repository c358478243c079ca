"""Names of categories, documents and collections: what can be asked for, and what can be created.

A name is one step of a path and never more, so no name leads out of the guide's folder. What people have put there by
hand may be called almost anything; what is created here has a name that every system can store.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_core.nearest_names import likeness, nearest
from mcp_guide.errors import BadNameError, Kind

NAME_LIMIT = 200  # bytes: with its ending, a name fits every file system
SUFFIX = ".md"
_SEPARATORS = re.compile(r"[/\\]")
_PORTABLE = re.compile(r"\w(?:[\w .-]*\w)?")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # reserved on Windows


@dataclass(frozen=True, slots=True, order=True)
class DocumentName:
    """The place of a document, written `category/name`."""

    category: str
    name: str

    def __str__(self) -> str:
        return f"{self.category}/{self.name}"

    @property
    def file(self) -> str:
        return f"{self.name}{SUFFIX}"


def parse_document_name(text: str) -> DocumentName:
    """Read `category/name`, with or without the ending `.md`; raises BadNameError."""
    category, slash, name = text.partition("/")
    if not slash:
        raise BadNameError("document", text, "write it as category/name")
    name = name.removesuffix(SUFFIX)
    try:
        return DocumentName(check_name("category", category), check_name("document", name))
    except BadNameError as error:
        raise BadNameError("document", text, error.reason) from None


def check_name(kind: Kind, name: str) -> str:
    """Return a name that can be looked up: one step of a path, not hidden. Raises BadNameError."""
    reason = _find_fault(name)
    if reason is not None:
        raise BadNameError(kind, name, reason)
    return name


def is_name(name: str) -> bool:
    return _find_fault(name) is None


def check_new_name(kind: Kind, name: str) -> str:
    """Return a name that can be created on any system; raises BadNameError."""
    check_name(kind, name)
    if not _PORTABLE.fullmatch(name):
        raise BadNameError(kind, name, "use letters, digits, - and _; dots and spaces only between them")
    if unicodedata.normalize("NFC", name) != name:
        raise BadNameError(kind, name, "its accents are separate characters; use Unicode form NFC")
    if _DEVICES.fullmatch(name):
        raise BadNameError(kind, name, "Windows reserves this name for a device")
    if kind == "category" and name != name.lower():
        raise BadNameError(kind, name, "category names must be lower case")
    return name


def fold_name(name: str) -> str:
    """Return one form for all names that some file systems take for the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def find_nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that somebody may have meant, the most similar first."""
    return tuple(other for other in nearest(name, known)[:5] if likeness(name, other) >= 0.5)


def _find_fault(name: str) -> str | None:
    if not name:
        return "it is empty"
    if name.startswith("."):
        return "it begins with a dot"
    if _SEPARATORS.search(name):
        return "it contains a path separator"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        return "it contains a control character"
    if len(name.encode()) > NAME_LIMIT:
        return f"it is longer than {NAME_LIMIT} bytes"
    return None
