"""Front matter: the YAML between two lines `---` at the head of a document, which describes it."""

from __future__ import annotations

import re

from mcp_core.quick_dataclass import dataclass
from mcp_guide.errors import YamlError
from mcp_guide.plain_yaml import one_line, read_mapping

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_YES = {"true", "yes", "on"}


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
