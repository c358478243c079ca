"""The categories of a guide: folders in the guide's own, each with an optional file that describes it."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from mcp_core.atomic_write import is_unfinished
from mcp_guide.documents import is_document
from mcp_guide.errors import ExistsError, GuideError, NotEmptyError
from mcp_guide.folder import Folder
from mcp_guide.guide_folder import GuideFolder
from mcp_guide.names import check_new_name, fold_name
from mcp_guide.plain_yaml import one_line, read_mapping_file, write_mapping
from mcp_guide.reporting import word_error

CATEGORY_FILE = "category.yaml"


class Category(TypedDict):
    """One category; `problem` says why its description cannot be read."""

    category: str
    description: str
    documents: int
    problem: NotRequired[str]


class Categories:
    """The categories in one guide's folder."""

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
        """Remove a category and return the number of documents that went with it.

        Raises NotEmptyError where it has documents and `with_documents` is false, or anything that is not ours; then
        nothing is removed.
        """
        with self._folder.open_category(name, lock=True) as folder:
            documents = _list_removable(folder, name, with_documents=with_documents)
            for entry in folder.entries():
                if entry.name in documents or entry.name == CATEGORY_FILE or is_unfinished(entry.name):
                    folder.remove(entry.name)
            with self._folder.open() as root:
                root.remove_folder(name)
        return len(documents)


def _list_removable(folder: Folder, name: str, *, with_documents: bool) -> set[str]:
    entries = folder.entries()
    documents = {entry.name for entry in entries if is_document(entry) and entry.kind != "folder"}
    ours = documents | {CATEGORY_FILE}
    strangers = [entry.name for entry in entries if entry.name not in ours and not is_unfinished(entry.name)]
    if strangers or (documents and not with_documents):
        raise NotEmptyError(name, documents=len(documents), strangers=tuple(strangers))
    return documents


def _write_description(folder: Folder, description: str) -> None:
    text = write_mapping({"description": one_line(description)})
    folder.write(CATEGORY_FILE, text.encode(), replace=True)
