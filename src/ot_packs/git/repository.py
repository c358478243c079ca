"""A git repository inside of the allowed roots: found by us, since git would follow a `.git` file anywhere.

A folder that merely looks like a bare repository is not taken for one: it may have come with somebody's files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ot.config.paths import belongs_to_stranger
from ot.errors import MissingPathError, PathError, ToolError
from ot.files.allowed_files import AllowedFiles

_POINTER = "gitdir: "


@dataclass(frozen=True, slots=True)
class Repository:
    """The real paths of a working tree, of its own git folder, and of the one that it shares with other worktrees."""

    top: Path
    git_dir: Path
    common_dir: Path

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(str, (self.top, self.git_dir, self.common_dir))))


@dataclass(frozen=True, slots=True)
class Subject:
    """A file or folder of a repository, by its name from the top; empty for all of it. It need not exist any more."""

    repository: Repository
    name: str


def find_subject(files: AllowedFiles, path: str) -> Subject:
    """Return the repository that a file or folder belongs to; raises ToolError or PathError."""
    # The project's own folder stands for all of its repository.
    place, missing = _nearest(files, path)
    folder = place if place.is_dir() and not place.is_symlink() else place.parent
    repository = _find_repository(files, folder, path)
    if not missing and place == Path(os.path.realpath(files.project)):
        return Subject(repository, "")
    name = os.path.relpath(place.joinpath(*missing), repository.top)
    return Subject(repository, "" if name == "." else name)


def _nearest(files: AllowedFiles, path: str) -> tuple[Path, list[str]]:
    """Return the real path of what exists of a path, and the names after it; a link at the end is not followed."""
    here, missing = path, list[str]()
    while True:
        try:
            with files.reach(here, follow=False) as reached:
                if reached.status is None:
                    return reached.place.parent, [reached.place.name, *missing]
                return reached.place, missing
        except MissingPathError:
            here, _, name = here.rstrip("/").rpartition("/")
            if not here or name in ("", ".", ".."):
                raise
            missing.insert(0, name)


def _find_repository(files: AllowedFiles, folder: Path, path: str) -> Repository:
    for top in (folder, *folder.parents):
        if not any(top.is_relative_to(root) for root in files.roots):
            break
        git_dir = _git_dir_of(files, top)
        if git_dir is not None:
            repository = Repository(top, git_dir, _common_dir_of(files, git_dir))
            strange = next((place for place in repository.places if belongs_to_stranger(Path(place))), None)
            if strange is not None:  # git itself refuses what another user has prepared
                raise ToolError(f"{strange} belongs to another user, so git does not trust it")
            return repository
    raise ToolError(
        f"{path}: there is no git repository here, or its top is outside of the folders that tools may use; a person "
        "can add that folder to `roots` in their onetool.yaml"
    )


def _git_dir_of(files: AllowedFiles, top: Path) -> Path | None:
    try:
        place = files.locate(top / ".git")
    except MissingPathError:
        return None
    if place.is_dir():
        return place if (place / "HEAD").exists() else None
    pointer = _read_pointer(files, place)
    if not pointer.startswith(_POINTER):
        raise ToolError(f"{place}: this file does not name the folder of a git repository")
    return _locate_pointed(files, place, top / pointer.removeprefix(_POINTER))


def _common_dir_of(files: AllowedFiles, git_dir: Path) -> Path:
    """Return the folder that holds the objects and branches: for a linked worktree, that of the main one."""
    try:
        pointer = _read_pointer(files, git_dir / "commondir")
    except MissingPathError:
        return git_dir
    return _locate_pointed(files, git_dir / "commondir", git_dir / pointer)


def _read_pointer(files: AllowedFiles, file: Path) -> str:
    with open(files.open(file), "rb") as stream:  # noqa: PTH123 - a descriptor
        return os.fsdecode(stream.read(4096)).rstrip("\n")  # bytes of a file that only holds a path


def _locate_pointed(files: AllowedFiles, file: Path, target: Path) -> Path:
    try:
        return files.locate(target)
    except PathError as error:
        raise ToolError(f"{file} leads to {target}, which tools may not use: {error.reason}") from error
