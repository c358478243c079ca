"""Files from anywhere: their kind, by what is in them, and zip files looked through before a library opens them.

The name of a file is a hint, where plain text could be several things. A library that reads a damaged file raises
whatever it happens to trip over, so every error of one means the same here.

A few kilobytes of zip can unfold to gigabytes, and a few lines of XML too; each library has its own idea of how much
to put up with. So what is inside is measured by unpacking it, not by what the file says about itself, and XML that
declares a document type, which no Office program writes, is refused before anybody parses it.
"""

from __future__ import annotations

import codecs
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from xml.parsers import expat

from ot.errors import ToolError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # what Office calls a workbook or document behind a password
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")
BAD_ZIP = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, OSError, ValueError, EOFError),
    KeyError,
)
"""The errors that the standard library raises on a damaged zip file."""
MAX_UNPACKED = 512 * 1024 * 1024  # bytes of all members together
MAX_MEMBERS = 20_000
MAX_PART = 64 * 1024 * 1024  # bytes of a member that is taken into memory as a whole
_BLOCK = 1 << 20
# Their content is never parsed here, and read only by `read_member`, which stops at the declared size.
_OPAQUE = (
    *(".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".svg", ".wdp", ".webp", ".ico"),
    *(".mp3", ".mp4", ".m4a", ".wav", ".mov", ".avi", ".odttf", ".ttf", ".otf", ".woff", ".woff2"),
    *(".docx", ".xlsx", ".pptx", ".zip", ".html", ".htm", ".xhtml", ".mht", ".css", ".js", ".txt"),
)
_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
_ENCODINGS = {"utf-8", "ascii", "utf-16", "iso8859-1", "cp1252"}  # in which a declaration looks as it looks here
# UTF-32, and "<" in UTF-16, UTF-32 and EBCDIC: what parsers recognise without being told.
_UNMARKED = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"<\x00", b"\x00<", b"\x00\x00\x00<", b"\x4c\x6f\xa7\x94")
Watch = Callable[[str], Callable[[bytes], None] | None]
"""Gives, for the name of a member, what is to see its content in pieces; None if nobody wants to."""


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
            head = file.read(4096)  # bytes that are enough to tell
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
    if start.startswith((b"<!doctype html", b"<html")) or (suffix in (".html", ".htm", ".xhtml") and b"<" in start):
        return Kind.HTML
    return Kind.CSV if suffix in (".csv", ".tsv", ".tab") else Kind.TEXT


def damaged(path: Path, error: BaseException) -> ToolError:
    reason = str(error).strip().splitlines()
    detail = f" ({reason[0][:200]})" if reason else ""
    return ToolError(f"{path.name} is damaged, or not what its beginning says{detail}")


def locked(path: Path) -> ToolError:
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


def check_archive(path: Path, *, watch: Watch = lambda name: None) -> None:
    """Unpack a zip file once, keeping nothing; raises ToolError if it is a bomb, locked, or declares document types."""
    try:
        with zipfile.ZipFile(path) as archive:
            left = MAX_UNPACKED
            for member in _checked_members(path, archive):
                if member.filename.lower().endswith(_OPAQUE):
                    continue
                see = watch(member.filename)
                guard = _XmlGuard(path, member.filename)
                for block in _unpack(archive, member):
                    left -= len(block)
                    if left < 0:
                        raise _bomb(path)
                    guard.see(block)
                    if see is not None:
                        see(block)
    except BAD_ZIP as error:
        raise damaged(path, error) from error


def check_members(path: Path) -> None:
    """Look at the list of members only; for archives whose content is read by `read_member` alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            _checked_members(path, archive)
    except BAD_ZIP as error:
        raise damaged(path, error) from error


def read_member(archive: zipfile.ZipFile, name: str, *, limit: int = MAX_PART) -> bytes:
    """Read one member that is not larger than it says, nor than `limit`; raises KeyError if there is none."""
    member = archive.getinfo(name)
    if member.file_size > limit:
        raise ToolError(f"{name} in it has {member.file_size >> 20} MB, more than {limit >> 20} MB")
    with archive.open(member) as file:
        return file.read(limit)


def parse_member(archive: zipfile.ZipFile, name: str, **handlers: Callable[..., None]) -> None:
    """Parse the XML of one member, in an archive that has been checked, with the handlers that expat calls so."""
    parser = expat.ParserCreate()
    for handler, function in handlers.items():
        setattr(parser, handler, function)
    with archive.open(name) as file:
        while block := file.read(_BLOCK):
            parser.Parse(block, False)


def check_xml(path: Path, name: str, data: bytes) -> bytes:
    """Pass on XML that declares no entities, for a parser of the standard library; a bare document type is harmless."""
    _XmlGuard(path, name, types_allowed=True).see(data)
    return data


def _checked_members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ToolError(f"{path.name} contains {len(members)} files, more than {MAX_MEMBERS}")
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        raise _bomb(path)
    if any(member.flag_bits & 1 for member in members):
        raise ToolError(f"{path.name} is an encrypted zip file: unpack it first")
    return members


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Unpack a member to its real end: the library would stop where the file says it ends, and others do not."""
    member.file_size = MAX_UNPACKED + 1
    with archive.open(member) as file:
        while block := file.read(_BLOCK):
            yield block


def _bomb(path: Path) -> ToolError:
    return ToolError(f"{path.name} would unpack to more than {MAX_UNPACKED >> 20} MB, which is refused")


class _XmlGuard:
    """Sees the content of one member in pieces, and refuses declarations in it."""

    def __init__(self, path: Path, name: str, *, types_allowed: bool = False) -> None:
        self._where = f"{name} in {path.name}"
        self._forbidden = _DECLARATIONS[1:] if types_allowed else _DECLARATIONS
        self._decode: Callable[[bytes], bytes] | None = None
        self._tail = b""
        self._begun = False
        self._harmless = False

    def see(self, block: bytes) -> None:
        if not self._begun:
            self._begun = True
            self._begin(block)
        if self._harmless:
            return
        if self._decode is not None:
            block = self._decode(block)
        text = self._tail + block
        if any(declaration in text for declaration in self._forbidden):
            raise ToolError(f"{self._where} declares a document type or an entity, which is refused")
        self._tail = text[-16:]  # bytes of the previous block in which a declaration may have begun

    def _begin(self, block: bytes) -> None:
        """Find out how it is encoded: in an unusual encoding a declaration would not be recognised."""
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not block.startswith(codecs.BOM_UTF32_LE):
            decoder = codecs.getincrementaldecoder("utf-16")("replace")
            self._decode = lambda data: decoder.decode(data).encode("utf-8", "replace")
            return
        if block.startswith(_UNMARKED):
            raise self._unusual("an unusual way")
        start = block.removeprefix(codecs.BOM_UTF8).lstrip()
        if start and not start.startswith(b"<"):
            # No parser takes it for XML. Some binary parts, such as a printer's settings, have a document in them.
            self._harmless = True
        elif start.startswith(b"<?xml"):
            declared = re.search(rb"""encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""", start[: start.find(b"?>")])
            name = declared[1].decode("ascii") if declared else "utf-8"
            try:
                known = codecs.lookup(name).name
            except LookupError:
                known = ""
            if known not in _ENCODINGS:
                raise self._unusual(name)

    def _unusual(self, encoding: str) -> ToolError:
        return ToolError(f"{self._where} is encoded in {encoding[:40]}; only UTF-8 and UTF-16 with a mark are read")
