"""The summary of a document: front matter, the YAML between two lines `---` at its head, or heading and paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from mcp_core.quick_dataclass import dataclass
from mcp_guide.errors import YamlError
from mcp_guide.plain_yaml import one_line, read_mapping

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_YES = {"true", "yes", "on"}
_LINES = 200  # looked at; a document that has not come to the point by then has no summary
_LENGTH = 200  # characters of a description

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[#>|<]|[-*+][ \t]|\d+[.)][ \t]|\{[%#{]|[-*_]{3,}\s*$)")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A document's description of itself; other keys than these are for other programs."""

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    template: bool = False


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a document into front matter and body; raises YamlError, its lines counted from the document's first.

    A document that only begins with a line `---`, a rule in Markdown, has no front matter.
    """
    block = _BLOCK.match(text)
    if block is None:
        return FrontMatter(), text
    try:
        found = read_mapping(block["yaml"])
    except YamlError as error:
        raise YamlError(error.reason, line=error.line and error.line + 1, where="its front matter") from None
    front = FrontMatter(
        title=one_line(found.get("title")),
        description=one_line(found.get("description")),
        tags=_read_tags(found.get("tags")),
        template=str(found.get("template")).lower() in _YES,
    )
    return front, text[block.end() :]


def find_body(text: str) -> str:
    """Return what follows the front matter, whatever that holds."""
    block = _BLOCK.match(text)
    return text if block is None else text[block.end() :]


def _read_tags(value: object) -> tuple[str, ...]:
    """Read a list, or texts with commas between them."""
    tags = value if isinstance(value, list) else one_line(value).split(",")
    return tuple(tag for tag in map(one_line, tags) if tag)


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
    """Yield the lines outside of code blocks."""
    fence = ""
    for line in islice(body.splitlines(), _LINES):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line
