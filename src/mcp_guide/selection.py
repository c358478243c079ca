"""Selecting documents by category, by collection, by pattern, by words, or by all of these together."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from pydantic import Field

from mcp_core import ToolArguments
from mcp_core.quick_dataclass import dataclass, field
from mcp_guide.documents import Document, Summary, Unreadable
from mcp_guide.guide import Guide
from mcp_guide.names import DocumentName, check_name
from mcp_guide.search import Match, Search


class Wish(ToolArguments):
    """The documents that a caller wants; every part that is given must fit."""

    category: str | None = Field(default=None, description="Only documents of this category")
    collection: str | None = Field(default=None, description="Only documents of the categories in this collection")
    pattern: str | None = Field(
        default=None, max_length=200, description="Only names like this, such as api/* or *test*"
    )
    search: str | None = Field(
        default=None, max_length=1000, description="Words to look for in title, tags, description and text"
    )

    @property
    def is_open(self) -> bool:
        """True if every document fits."""
        return self.category is self.collection is self.pattern is self.search is None


@dataclass(slots=True)
class Selection:
    """The documents that fit, the best first in a search and by name otherwise, and those that cannot be read."""

    found: list[tuple[Summary, Match | None]] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def select(guide: Guide, wish: Wish) -> Selection:
    """Find the documents that somebody wishes for; raises NotFoundError for a category or collection."""
    search = Search(wish.search) if wish.search else None
    selection = Selection()
    for category in _find_categories(guide, wish):
        for document in guide.documents.walk(category):
            _consider(document, wish.pattern, search, selection)
    if search is not None:
        selection.found = _rank(selection.found, search)
    return selection


def _find_categories(guide: Guide, wish: Wish) -> Iterable[str]:
    known = guide.collections.read(wish.collection)["categories"] if wish.collection else guide.folder.category_names()
    if wish.category is None:
        return known
    if wish.collection is None:
        return [check_name("category", wish.category)]
    return [name for name in known if name == wish.category]


def _consider(found: Document | Unreadable, pattern: str | None, search: Search | None, selection: Selection) -> None:
    name = found.name if isinstance(found, Unreadable) else found.summary.name
    if pattern is not None and not _fits(name, pattern):
        return
    if isinstance(found, Unreadable):
        selection.unreadable.append(found)
    elif search is None:
        selection.found.append((found.summary, None))
    elif (match := search.judge(found)) is not None:
        selection.found.append((found.summary, match))


def _rank(found: list[tuple[Summary, Match | None]], search: Search) -> list[tuple[Summary, Match | None]]:
    scores = search.score([match for _, match in found if match is not None])
    order = sorted(range(len(found)), key=lambda index: -scores[index])
    return [found[index] for index in order]


def _fits(name: DocumentName, pattern: str) -> bool:
    """Compare with `category/name` where the pattern has a slash, else with the name alone; case does not count."""
    whole = str(name) if "/" in pattern else name.name
    return fnmatchcase(whole.casefold(), pattern.removesuffix(".md").casefold())
