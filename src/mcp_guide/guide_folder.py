"""The guide's folder: where it is, and the folders of its categories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mcp_guide.errors import NotFoundError
from mcp_guide.folder import Folder, open_path
from mcp_guide.names import check_name, find_nearest, is_name


class GuideFolder:
    """The folder of one guide, opened again for each piece of work. It need not exist."""

    def __init__(self, path: Path, *, may_be_link: bool) -> None:
        """`may_be_link` is for a folder that a person has named; one that was found in a project must be real."""
        self.path = path
        self.may_be_link = may_be_link

    @contextmanager
    def open(self, *, lock: bool = False) -> Iterator[Folder]:
        """Open it; with `lock`, for a change, as the only one among all servers of this guide.

        Raises FileNotFoundError, or NotADirectoryError for anything but a folder.
        """
        with open_path(self.path, follow=self.may_be_link) as root:
            if lock:
                root.lock()
            yield root

    @contextmanager
    def open_category(self, name: str, *, lock: bool = False) -> Iterator[Folder]:
        """Open the folder of a category; raises BadNameError or NotFoundError."""
        check_name("category", name)
        with ExitStack() as opened:
            try:
                root = opened.enter_context(self.open(lock=lock))
                folder = opened.enter_context(root.open_folder(name))
            except (FileNotFoundError, NotADirectoryError):
                raise NotFoundError("category", name, nearest=find_nearest(name, self.category_names())) from None
            yield folder

    def category_names(self) -> list[str]:
        """List the folders in the guide's that have a name one can ask for; none where there is no guide yet."""
        try:
            with self.open() as root:
                return [entry.name for entry in root.entries() if entry.kind == "folder" and is_name(entry.name)]
        except (FileNotFoundError, NotADirectoryError):
            return []
