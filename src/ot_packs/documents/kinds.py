"""The kind of a file, by what is in it, and the sentences for files that cannot be read.

Its name is a hint, where plain text could be several things. A library that reads a damaged file raises whatever it
happens to trip over, so every error of one means the same here.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from ot.errors import ToolError

_HEAD = 4096  # bytes that are enough to tell
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # what Office calls a workbook or document behind a password
_BLOCK = 1 << 20
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")
BAD_ZIP = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, OSError, ValueError, EOFError),
    KeyError,
)
"""The errors that the standard library raises on a damaged zip file."""
_DELIMITED = (".csv", ".tsv", ".tab")
_PAGES = (".html", ".htm", ".xhtml")


class Kind(StrEnum):
    PDF = "pdf"
    XLSX = "xlsx"
    XLSM = "xlsm"
    XLSB = "xlsb"
    XLS = "xls"
    ODS = "ods"
    DOCX = "docx"
    PPTX = "pptx"
    EPUB = "epub"
    HTML = "html"
    CSV = "csv"
    TEXT = "text"
    IMAGE = "image"
    ZIP = "zip"
    OLE = "ole"
    BINARY = "binary"


def recognise(path: Path) -> Kind:
    """Detect the format of a file; raises ToolError if it is behind a password, empty or not there."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except FileNotFoundError:
        raise ToolError(f"there is no file {path.name} in {path.parent}") from None
    except IsADirectoryError:
        raise ToolError(f"{path.name} is a folder; name a file in it") from None
    if not head:
        raise ToolError(f"{path.name} is empty")
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if head.startswith(_OLE):
        return _kind_of_ole(path)
    # Readers look for the mark in the first kilobyte, after whatever a mail program has put before it.
    if b"%PDF-" in head[:1024]:
        return Kind.PDF
    if head.startswith(_PICTURES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP"):
        return Kind.IMAGE
    return _kind_of_text(path, head)


def _kind_of_zip(path: Path) -> Kind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            mime_type = archive.read("mimetype")[:100].strip() if "mimetype" in names else b""
    except BAD_ZIP as error:
        raise damaged(path, error) from error
    if mime_type == b"application/epub+zip" or "META-INF/container.xml" in names:
        return Kind.EPUB
    if mime_type == b"application/vnd.oasis.opendocument.spreadsheet":
        return Kind.ODS
    if "xl/workbook.bin" in names:
        return Kind.XLSB
    if "xl/workbook.xml" in names:
        return Kind.XLSM if "xl/vbaProject.bin" in names else Kind.XLSX
    if "word/document.xml" in names:
        return Kind.DOCX
    return Kind.PPTX if "ppt/presentation.xml" in names else Kind.ZIP


def _kind_of_ole(path: Path) -> Kind:
    """The older Office formats, and the newer ones behind a password, are all in one kind of container."""
    wanted = (_PACKAGE, "Workbook".encode("utf-16-le"), "Book".encode("utf-16-le"))
    found, tail = set[bytes](), b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found |= {text for text in wanted if text in tail + block}
            tail = block[-64:]
    if _PACKAGE in found:
        raise locked(path)
    return Kind.XLS if found else Kind.OLE


def _kind_of_text(path: Path, head: bytes) -> Kind:
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Kind.BINARY
    suffix = path.suffix.lower()
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    if start.startswith((b"<!doctype html", b"<html")) or (suffix in _PAGES and b"<" in start):
        return Kind.HTML
    return Kind.CSV if suffix in _DELIMITED else Kind.TEXT


def damaged(path: Path, error: BaseException) -> ToolError:
    reason = str(error).strip().splitlines()
    detail = f" ({reason[0][:200]})" if reason else ""
    return ToolError(f"{path.name} is damaged, or not what its beginning says{detail}")


def locked(path: Path) -> ToolError:
    """The sentence for a file that nobody can read without its password."""
    return ToolError(f"{path.name} is protected by a password: save a copy without one, and use that")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what a library raises on a file into a ToolError."""
    try:
        yield
    except (ToolError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        raise ToolError(f"{path.name} needs more memory than a helper process may hold") from None
    except RecursionError as error:
        raise ToolError(f"{path.name} is nested too deeply") from error

    except BaseException as error:  # libraries raise anything, and a panic of Rust is no Exception
        # The reader of workbooks says so.
        raise (locked(path) if type(error).__name__ == "PasswordError" else damaged(path, error)) from error
