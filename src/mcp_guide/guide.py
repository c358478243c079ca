"""One guide: its folder, what is in it, and the project that it guides."""

from __future__ import annotations

from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from mcp_guide.categories import Categories
from mcp_guide.collection_file import Collections
from mcp_guide.documents import Documents
from mcp_guide.guide_folder import GuideFolder
from mcp_guide.places import Places


@dataclass(frozen=True, slots=True)
class Guide:
    """Everything that the tools work with."""

    project: Path
    folder: GuideFolder
    categories: Categories
    collections: Collections
    documents: Documents


def open_guide(places: Places) -> Guide:
    """Put the parts together; nothing is read before it is asked for."""
    folder = GuideFolder(places.folder, may_be_link=places.named)
    return Guide(places.project, folder, Categories(folder), Collections(folder), Documents(folder))
