"""Folders listed, searched and shown as trees, and what each entry is."""

from __future__ import annotations

import heapq
import itertools
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Literal, Protocol

from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles, word_path_error
from ot.files.globs import Glob, GlobError
from ot.files.stoppable import Check
from ot.files.tree import walk_tree

MOST_IN_TREE = 50_000

Kind = Literal["file", "folder", "link", "other"]

_KINDS: Mapping[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
Page = tuple[list[tuple[str, os.stat_result]], int]
"""Some of what was found, and how much was found in all."""


def kind_of(status: os.stat_result) -> Kind:
    """Return what it is; a device, a pipe or a socket is something else."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "other")


def modified(status: os.stat_result) -> str:
    try:
        return datetime.fromtimestamp(status.st_mtime).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # a file system may say anything
        return ""


class Search(Protocol):
    """A search of which one page is wanted; `offset` counts from 1."""

    def __call__(self, *, offset: int, limit: int, check: Check) -> Page: ...


def look(files: AllowedFiles, path: str) -> tuple[os.stat_result, str]:
    """Return the status of something, and what it holds if it is a link; raises MissingPathError."""
    with files.reach(path, follow=False) as reached:
        if reached.status is None:
            raise word_path_error(path, FileNotFoundError())
        is_link = stat.S_ISLNK(reached.status.st_mode)
        return reached.status, os.readlink(reached.name, dir_fd=reached.folder) if is_link else ""


def list_folder(files: AllowedFiles, path: str, *, offset: int, limit: int, check: Check) -> Page:
    """List a folder by name; of a large one, no more is held than is asked for."""
    folder = files.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        total = itertools.count()  # ends with the entries
        with os.scandir(folder) as entries:
            counted = (entry.name for entry, _ in zip(entries, total, strict=False))
            names = heapq.nsmallest(offset - 1 + limit, counted)[offset - 1 :]
            deque(counted, maxlen=0)  # of none, it counts none
        check()
        page: list[tuple[str, os.stat_result]] = []
        for name in names:
            with suppress(FileNotFoundError):
                page.append((name, os.stat(name, dir_fd=folder, follow_symlinks=False)))
        return page, next(total)
    finally:
        os.close(folder)


def find(
    files: AllowedFiles, path: str, query: str, *, ignored: bool, kind: str, offset: int, limit: int, check: Check
) -> Page:
    try:
        glob = Glob(query)
    except GlobError as error:
        raise ToolError(str(error)) from error
    page: list[tuple[str, os.stat_result]] = []
    total = 0
    for found in walk_tree(files, path, ignored=ignored, check=check):
        if (kind != "any" and found.is_folder != (kind == "folder")) or not glob.matches(found.path):
            continue
        with suppress(FileNotFoundError):
            if offset <= total + 1 < offset + limit:
                page.append((found.path, found.status()))
            total += 1
    return page, total


def find_tree(
    files: AllowedFiles, path: str, *, depth: int, limit: int, ignored: bool, check: Check
) -> tuple[dict[str, object], int]:
    """Return a folder as a tree, of which what is near the top is shown first, and how much there is."""
    total = 0

    def count() -> Iterator[tuple[str, int | None]]:
        nonlocal total
        for item in walk_tree(files, path, ignored=ignored, depth=depth, check=check):
            with suppress(FileNotFoundError):
                yield item.path, None if item.is_folder else item.status().st_size
                total += 1

    shown = heapq.nsmallest(min(limit, MOST_IN_TREE), count(), key=lambda item: item[0].count("/"))
    tree: dict[str, object] = {}
    folders: dict[str, dict[str, object]] = {"": tree}
    for place, size in sorted(shown):  # a folder, which has no size, ends in a slash
        above, _, name = place.rpartition("/")
        if size is None:
            folders[place] = {}
        folders[above][f"{name}/" if size is None else name] = folders[place] if size is None else size
    return tree, total
