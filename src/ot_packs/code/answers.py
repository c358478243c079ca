"""The answers of `matching`, as they cross from the helper process: for one batch of files each."""

from __future__ import annotations

from typing import Generic, TypedDict, TypeVar

Item = TypeVar("Item")


class Batch(TypedDict, Generic[Item]):
    """Items found in a batch, at most as many as are wanted; `unread` are files that could not be parsed."""

    found: list[Item]
    total: int
    unread: list[str]
    incomplete: bool  # the pattern alone is not complete code


class ChangedFile(TypedDict):
    """A file that a rewrite changes: how often, its new text, and the diff."""

    path: str
    matches: int
    text: str
    diff: str


class Rewritten(TypedDict):
    changed: list[ChangedFile]
    unread: list[str]
    incomplete: bool
