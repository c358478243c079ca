"""The categories of a guide, folders in the guide's own, and collections: named groups of them for one purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from mcp_core.atomic_write import is_unfinished
from mcp_guide.documents import is_document
from mcp_guide.errors import ExistsError, GuideError, NotEmptyError, NotFoundError, YamlError
from mcp_guide.folder import Folder, GuideFolder
from mcp_guide.names import check_name, check_new_name, find_nearest, fold_name
from mcp_guide.plain_yaml import one_line, read_mapping_file, write_mapping
from mcp_guide.reporting import word_error

CATEGORY_FILE = "category.yaml"
COLLECTIONS_FILE = "collections.yaml"


class Category(TypedDict):
    """One category; `problem` says why its description cannot be read."""

    category: str
    description: str
    documents: int
    problem: NotRequired[str]


class Categories:
    def __init__(self, folder: GuideFolder) -> None:
        self._folder = folder

    def list(self) -> list[Category]:
        return [self.read(name) for name in self._folder.category_names()]

    def read(self, name: str) -> Category:
        """Describe one category; raises NotFoundError."""
        with self._folder.open_category(name) as folder:
            count = sum(map(is_document, folder.entries()))
            try:
                described = read_mapping_file(folder, CATEGORY_FILE)
            except GuideError as error:
                return {"category": name, "description": "", "documents": count, "problem": word_error(error).text}
        return {"category": name, "description": one_line(described.get("description")), "documents": count}

    def create(self, name: str, description: str) -> Category:
        """Make a category, and the guide's folder with the first one; raises ExistsError."""
        check_new_name("category", name)
        self._folder.path.mkdir(parents=True, exist_ok=True)
        with self._folder.open(lock=True) as root:
            for entry in root.entries():
                if fold_name(entry.name) == fold_name(name):
                    raise ExistsError("category", entry.name)
            root.make_folder(name)
            with root.open_folder(name) as folder:
                _write_description(folder, description)
        return self.read(name)

    def update(self, name: str, description: str) -> Category:
        """Replace the description of a category; raises NotFoundError."""
        with self._folder.open_category(name, lock=True) as folder:
            _write_description(folder, description)
        return self.read(name)

    def remove(self, name: str, *, with_documents: bool) -> int:
        """Remove a category and return the number of documents that went with it, or raise NotEmptyError."""
        # Nothing is removed where it has documents and `with_documents` is false, or anything that is not ours.
        with self._folder.open_category(name, lock=True) as folder:
            entries = folder.entries()
            documents = {entry.name for entry in entries if is_document(entry) and entry.kind != "folder"}
            ours = documents | {CATEGORY_FILE}
            strangers = [entry.name for entry in entries if entry.name not in ours and not is_unfinished(entry.name)]
            if strangers or (documents and not with_documents):
                raise NotEmptyError(name, documents=len(documents), strangers=tuple(strangers))
            for entry in entries:
                folder.remove(entry.name)
            with self._folder.open() as root:
                root.remove_folder(name)
        return len(documents)


def _write_description(folder: Folder, description: str) -> None:
    folder.write(CATEGORY_FILE, write_mapping({"description": one_line(description)}).encode(), replace=True)


class Collection(TypedDict):
    """One collection; `missing` are categories that it names and that do not exist."""

    collection: str
    description: str
    categories: list[str]
    missing: NotRequired[list[str]]


class Collections:
    def __init__(self, folder: GuideFolder) -> None:
        self._folder = folder

    def list(self) -> list[Collection]:
        """Return all collections, in the order of the file; raises YamlError."""
        try:
            with self._folder.open() as root:
                found = _read(root)
        except (FileNotFoundError, NotADirectoryError):
            return []
        known = set(self._folder.category_names())
        for collection in found.values():
            if missing := [name for name in collection["categories"] if name not in known]:
                collection["categories"] = [name for name in collection["categories"] if name in known]
                collection["missing"] = missing
        return list(found.values())

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
        known = self._folder.category_names()
        for category in chosen:
            if check_name("category", category) not in known:
                raise NotFoundError("category", category, nearest=find_nearest(category, known))
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
