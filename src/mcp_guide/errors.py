"""Everything that can go wrong with a guide, as facts; `reporting.py` has the sentences."""

from __future__ import annotations

from typing import Literal

from mcp_core.facts_error import FactsError

Kind = Literal["category", "document", "collection"]


class GuideError(FactsError):
    """Base of all errors that are reported to callers."""


class BadNameError(GuideError):
    kind: Kind
    name: str
    reason: str


class NotFoundError(GuideError):
    kind: Kind
    name: str
    nearest: tuple[str, ...] = ()  # names that exist, the most similar first


class ExistsError(GuideError):
    kind: Kind
    name: str  # as it exists; what was asked for may differ from it in case


class NotEmptyError(GuideError):
    """A category with documents, or with files that are not ours to remove."""

    category: str
    documents: int
    strangers: tuple[str, ...]


class TooLargeError(GuideError):
    name: str
    limit: int


class UnreadableError(GuideError):
    """Something has the name, and it is no document: a link, a folder, a pipe."""

    name: str
    reason: str


class YamlError(GuideError):
    reason: str
    line: int | None = None
    where: str = ""  # the file, or the front matter of a document


class TemplateFailedError(GuideError):
    document: str  # the template that failed, which may be one that the rendered one includes
    reason: str
    line: int | None = None
