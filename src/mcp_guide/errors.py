"""Everything that can go wrong with a guide, as facts; `reporting.py` has the sentences.

GuideError
├── BadNameError            a name that a guide cannot use
├── NotFoundError           no such category, document or collection
├── ExistsError             the name is taken
├── NotEmptyError           a category that still holds something
├── TooLargeError           more bytes than a document may have
├── UnreadableError         something has the name, and it is no document: a link, a folder, a pipe
├── YamlError               YAML that is broken, or made to hurt
└── TemplateFailedError     a template that cannot be rendered
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Kind = Literal["category", "document", "collection"]


class GuideError(Exception):
    """Base of all errors that a caller is told about."""


class BadNameError(GuideError):
    def __init__(self, kind: Kind, name: str, reason: str) -> None:
        super().__init__(kind, name, reason)
        self.kind = kind
        self.name = name
        self.reason = reason


class NotFoundError(GuideError):
    """`nearest` are names that exist, the most similar first."""

    def __init__(self, kind: Kind, name: str, *, nearest: Sequence[str] = ()) -> None:
        super().__init__(kind, name)
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)


class ExistsError(GuideError):
    """`name` as it exists; what was asked for may differ from it in case."""

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(kind, name)
        self.kind = kind
        self.name = name


class NotEmptyError(GuideError):
    """A category with documents, or with files that are not ours to remove."""

    def __init__(self, category: str, *, documents: int, strangers: Sequence[str]) -> None:
        super().__init__(category, documents, *strangers)
        self.category = category
        self.documents = documents
        self.strangers = tuple(strangers)


class TooLargeError(GuideError):
    def __init__(self, name: str, *, limit: int) -> None:
        super().__init__(name, limit)
        self.name = name
        self.limit = limit


class UnreadableError(GuideError):
    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason


class YamlError(GuideError):
    """`where` names the file, or the front matter of a document."""

    def __init__(self, reason: str, *, line: int | None = None, where: str = "") -> None:
        super().__init__(reason, line, where)
        self.reason = reason
        self.line = line
        self.where = where


class TemplateFailedError(GuideError):
    """`document` is the template that failed, which may be one that the rendered one includes."""

    def __init__(self, document: str, reason: str, *, line: int | None = None) -> None:
        super().__init__(document, reason, line)
        self.document = document
        self.reason = reason
        self.line = line
