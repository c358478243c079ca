"""Collections: named groups of categories for one purpose, kept in one file of the guide's folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from mcp_guide.errors import NotFoundError, YamlError
from mcp_guide.folder import Folder
from mcp_guide.guide_folder import GuideFolder
from mcp_guide.names import check_name, check_new_name, find_nearest
from mcp_guide.plain_yaml import one_line, read_mapping_file, write_mapping

COLLECTIONS_FILE = "collections.yaml"


class Collection(TypedDict):
    """One collection; `missing` are categories that it names and that do not exist."""

    collection: str
    description: str
    categories: list[str]
    missing: NotRequired[list[str]]


class Collections:
    """The collections of one guide."""

    def __init__(self, folder: GuideFolder) -> None:
        self._folder = folder

    def list(self) -> list[Collection]:
        """Return all collections, in the order of the file; raises YamlError."""
        try:
            with self._folder.open() as root:
                found = _read(root)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self._complete(collection) for collection in found.values()]

    def read(self, name: str) -> Collection:
        """Return one collection; raises NotFoundError."""
        known = {collection["collection"]: collection for collection in self.list()}
        if name not in known:
            raise NotFoundError("collection", name, nearest=find_nearest(name, known))
        return known[name]

    def set(self, name: str, *, description: str, categories: Sequence[str]) -> Collection:
        """Create or replace a collection; raises NotFoundError for a category."""
        check_new_name("collection", name)
        chosen = list(dict.fromkeys(categories))
        self._refuse_missing(chosen)
        collection: Collection = {"collection": name, "description": one_line(description), "categories": chosen}
        with self._folder.open(lock=True) as root:
            _write(root, {**_read(root), name: collection})
        return collection

    def remove(self, name: str) -> None:
        """Remove a collection; its categories stay. Raises NotFoundError."""
        self.read(name)
        with self._folder.open(lock=True) as root:
            rest = _read(root)
            rest.pop(name, None)
            _write(root, rest)

    def _refuse_missing(self, categories: Sequence[str]) -> None:
        known = self._folder.category_names()
        for name in categories:
            if check_name("category", name) not in known:
                raise NotFoundError("category", name, nearest=find_nearest(name, known))

    def _complete(self, collection: Collection) -> Collection:
        known = set(self._folder.category_names())
        missing = [name for name in collection["categories"] if name not in known]
        if missing:
            collection["categories"] = [name for name in collection["categories"] if name in known]
            collection["missing"] = missing
        return collection


def _read(root: Folder) -> dict[str, Collection]:
    return {name: _parse(name, value) for name, value in read_mapping_file(root, COLLECTIONS_FILE).items()}


def _parse(name: str, value: object) -> Collection:
    """Read one entry: a list of categories, or a mapping with `categories` and perhaps a `description`."""
    settings = {"categories": value} if isinstance(value, list) else value
    if not isinstance(settings, dict) or not settings.keys() <= {"description", "categories"}:
        raise YamlError(f"has no description and categories for {name}", where=COLLECTIONS_FILE)
    description, categories = settings.get("description", ""), settings.get("categories", [])
    if not isinstance(description, str) or not isinstance(categories, list):
        raise YamlError(f"has no list of categories for {name}", where=COLLECTIONS_FILE)
    if not all(isinstance(category, str) for category in categories):
        raise YamlError(f"lists categories for {name} that are not names", where=COLLECTIONS_FILE)
    return {"collection": name, "description": one_line(description), "categories": categories}


def _write(root: Folder, collections: dict[str, Collection]) -> None:
    content = {
        name: {"description": collection["description"], "categories": collection["categories"]}
        for name, collection in collections.items()
    }
    root.write(COLLECTIONS_FILE, write_mapping(content).encode(), replace=True)
