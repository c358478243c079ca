"""What a caller is told when something went wrong: the only place with the sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass

from mcp_guide.errors import (
    BadNameError,
    ExistsError,
    GuideError,
    NotEmptyError,
    NotFoundError,
    TemplateFailedError,
    TooLargeError,
    UnreadableError,
    YamlError,
)

_LISTS = {"category": "list_categories", "document": "list_documents", "collection": "list_collections"}
_SHOWN = 100  # characters of a name


@dataclass(frozen=True, slots=True)
class Report:
    """A sentence, a word that code can decide by, and what an agent can do next."""

    text: str
    kind: str
    instruction: str | None = None


def word_error(error: GuideError | OSError) -> Report:
    """Word an error of a guide, or of the disk."""
    match error:
        case NotFoundError():
            return Report(_not_found(error), "not_found", f"Call {_LISTS[error.kind]} to see which there are.")
        case BadNameError():
            return Report(f"{_quote(error.name)} cannot name a {error.kind}: {error.reason}.", "bad_name")
        case ExistsError():
            text = f"There is already a {error.kind} {_quote(error.name)}."
            return Report(text, "exists", "Ask whether it should be replaced before you do so.")
        case NotEmptyError():
            return _not_empty(error)
        case TooLargeError():
            return Report(f"{_quote(error.name)} is larger than {error.limit} bytes.", "too_large")
        case UnreadableError():
            return Report(f"{_quote(error.name)} cannot be used: {error.reason}.", "unreadable")
        case YamlError():
            return Report(_bad_yaml(error), "bad_yaml")
        case TemplateFailedError():
            place = "" if error.line is None else f", line {error.line}"
            text = f"The template {_quote(error.document)}{place}: {error.reason.rstrip('.')}."
            return Report(text, "template_failed")
        case OSError():
            return Report(f"The guide's folder cannot be used: {error.strerror or error}.", "storage")
    return Report(str(error), "failed")


def _not_found(error: NotFoundError) -> str:
    sentence = f"There is no {error.kind} {_quote(error.name)}."
    if not error.nearest:
        return sentence
    return f"{sentence} Did you mean {', '.join(map(_quote, error.nearest))}?"


def _not_empty(error: NotEmptyError) -> Report:
    if error.strangers:
        names = ", ".join(map(_quote, error.strangers[:5]))
        text = f"The category {_quote(error.category)} holds what is no document: {names}."
        return Report(text, "not_empty", "Leave it; a person can remove it by hand.")
    count = "1 document" if error.documents == 1 else f"{error.documents} documents"
    text = f"The category {_quote(error.category)} has {count}."
    return Report(text, "not_empty", "Set with_documents only if the person wants these removed as well.")


def _bad_yaml(error: YamlError) -> str:
    place = "" if error.line is None else f" (line {error.line})"
    return f"{error.where or 'The text'} {error.reason}{place}."


def _quote(name: str) -> str:
    """Put a name of any content on one line."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
