"""The documents of a guide: what is known of each, and the ways to list, read, create and remove them.

A document is summarised by its front matter, the YAML between two lines `---` at its head, or heading and paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from mcp_core.quick_dataclass import dataclass
from mcp_guide.errors import ExistsError, GuideError, NotFoundError, TooLargeError, UnreadableError, YamlError
from mcp_guide.folder import Folder, FolderEntry, GuideFolder
from mcp_guide.names import SUFFIX, DocumentName, check_new_name, find_nearest, fold_name, is_name
from mcp_guide.plain_yaml import one_line, read_mapping

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_LINES = 200  # looked at; a document that has not come to the point by then has no summary
_LENGTH = 200  # characters of a description
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[#>|<]|[-*+][ \t]|\d+[.)][ \t]|\{[%#{]|[-*_]{3,}\s*$)")
SIZE_LIMIT = 1024 * 1024  # bytes of one document


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A document's description of itself; other keys than these are for other programs."""

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    template: bool = False


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a document into front matter and body; raises YamlError, its lines counted from the document's first."""
    block = _BLOCK.match(text)
    if block is None:  # even if it begins with a line `---`, a rule in Markdown
        return FrontMatter(), text
    try:
        found = read_mapping(block["yaml"])
    except YamlError as error:
        raise YamlError(error.reason, line=error.line and error.line + 1, where="its front matter") from None
    tags = found.get("tags")  # a list, or texts with commas between them
    listed = tags if isinstance(tags, list) else one_line(tags).split(",")
    title, description = one_line(found.get("title")), one_line(found.get("description"))
    template = str(found.get("template")).lower() in ("true", "yes", "on")
    front = FrontMatter(title, description, tuple(filter(None, map(one_line, listed))), template)
    return front, text[block.end() :]


def find_body(text: str) -> str:
    """Return what follows the front matter, whatever that holds."""
    block = _BLOCK.match(text)
    return text if block is None else text[block.end() :]


def find_title(body: str) -> str:
    """Return the text of the first heading, empty where there is none."""
    previous = ""
    for line in _prose_lines(body):
        if heading := _HEADING.fullmatch(line):
            return heading["text"].rstrip("# \t")
        if previous.strip() and _UNDERLINE.fullmatch(line) and not _NO_PARAGRAPH.match(previous):
            return previous.strip()
        previous = line
    return ""


def find_description(body: str) -> str:
    """Return the first paragraph in one line, shortened; empty where there is none."""
    paragraph: list[str] = []
    for line in _prose_lines(body):
        if _UNDERLINE.fullmatch(line):
            paragraph.clear()  # what stood before was a heading
        elif not _NO_PARAGRAPH.match(line):
            paragraph.append(line)
        elif paragraph:
            break
    return shorten(" ".join(paragraph))


def shorten(text: str, length: int = _LENGTH) -> str:
    """Put a text on one line of so many characters, cut between words."""
    line = " ".join(text[: length * 4].split())
    if len(line) <= length:
        return line
    return f"{line[:length].rpartition(' ')[0] or line[:length]}…"


def _prose_lines(body: str) -> Iterator[str]:
    fence = ""
    for line in islice(body.splitlines(), _LINES):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line


class Summary(NamedTuple):
    name: DocumentName
    title: str
    description: str
    tags: tuple[str, ...]
    template: bool
    size: int  # bytes
    problem: YamlError | None = None  # of its front matter, which then counts as missing


class Document(NamedTuple):
    summary: Summary
    text: str
    body: str  # without the front matter


class Unreadable(NamedTuple):
    """Something that has the name of a document and cannot be read as one."""

    name: DocumentName
    reason: GuideError


class Documents:
    """The documents in one guide's folder. Nothing is remembered between calls: people edit the files."""

    def __init__(self, folder: GuideFolder) -> None:
        self._folder = folder

    def walk(self, category: str) -> Iterator[Document | Unreadable]:
        """Read the documents of a category one after the other, by name; raises NotFoundError for the category."""
        with self._folder.open_category(category) as folder:
            for entry in filter(is_document, folder.entries()):
                name = DocumentName(category, entry.name.removesuffix(SUFFIX))
                try:
                    yield _read(folder, name)
                except GuideError as reason:
                    yield Unreadable(name, reason)

    def read(self, name: DocumentName) -> Document:
        """Read one document; raises NotFoundError, UnreadableError or TooLargeError."""
        with self._folder.open_category(name.category) as folder:
            return _read(folder, name)

    def create(self, name: DocumentName, text: str, *, replace: bool) -> Document:
        """Write a document into a category that exists; raises ExistsError for a taken name unless `replace`."""
        check_new_name("document", name.name)
        document = _describe(name, text.encode("utf-8", "backslashreplace"))
        if document.summary.problem is not None:
            raise document.summary.problem
        if document.summary.size > SIZE_LIMIT:
            raise TooLargeError(str(name), limit=SIZE_LIMIT)
        with self._folder.open_category(name.category, lock=True) as folder:
            # Names that differ only in case are one file on some systems, so they are one here.
            for entry in folder.entries():
                replaced = replace and entry.name == name.file and entry.kind == "file"
                if fold_name(entry.name) == fold_name(name.file) and not replaced:
                    raise ExistsError("document", str(DocumentName(name.category, entry.name.removesuffix(SUFFIX))))
            folder.write(name.file, document.text.encode(), replace=replace)
        return document

    def remove(self, name: DocumentName) -> None:
        """Remove a document; of a link in its place only the link. Raises NotFoundError or UnreadableError."""
        with self._folder.open_category(name.category, lock=True) as folder:
            try:
                folder.remove(name.file)
            except FileNotFoundError:
                raise _not_found(folder, name) from None
            except (IsADirectoryError, PermissionError) as error:
                raise UnreadableError(str(name), f"it cannot be removed: {error.strerror}") from None


def is_document(entry: FolderEntry) -> bool:
    """True if an entry has the name of a document; whether it can be read is another matter."""
    return entry.name.endswith(SUFFIX) and is_name(entry.name.removesuffix(SUFFIX))


def _read(folder: Folder, name: DocumentName) -> Document:
    try:
        data = folder.read(name.file, limit=SIZE_LIMIT, shown=str(name))
    except FileNotFoundError:
        raise _not_found(folder, name) from None
    except PermissionError as error:
        raise UnreadableError(str(name), f"it cannot be opened: {error.strerror}") from None
    return _describe(name, data)


def _not_found(folder: Folder, name: DocumentName) -> NotFoundError:
    there = (str(DocumentName(name.category, e.name.removesuffix(SUFFIX))) for e in folder.entries() if is_document(e))
    return NotFoundError("document", str(name), nearest=find_nearest(str(name), there))


def _describe(name: DocumentName, data: bytes) -> Document:
    text = data.decode("utf-8-sig", "replace")
    problem: YamlError | None = None
    try:
        front, body = split_front_matter(text)
    except YamlError as error:
        problem, front, body = error, FrontMatter(), find_body(text)
    title = shorten(front.title or find_title(body) or name.name)
    description = shorten(front.description or find_description(body))
    return Document(Summary(name, title, description, front.tags, front.template, len(data), problem), text, body)
