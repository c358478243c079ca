"""Errors in the words that a caller reads; no other place has the sentences."""

from __future__ import annotations

from mcp_core import Report, quote_name
from mcp_guide import errors

_LISTS = {"category": "list_categories", "document": "list_documents", "collection": "list_collections"}


def word_error(error: Exception) -> Report:
    match error:
        case errors.NotFoundError():
            near = f" Did you mean {', '.join(map(quote_name, error.nearest))}?" if error.nearest else ""
            text = f"There is no {error.kind} {quote_name(error.name)}.{near}"
            return Report(text, "not_found", f"Call `{_LISTS[error.kind]}` to see what exists.")
        case errors.BadNameError():
            return Report(f"{quote_name(error.name)} is not a valid {error.kind} name: {error.reason}.", "bad_name")
        case errors.ExistsError():
            text = f"There is already a {error.kind} {quote_name(error.name)}."
            return Report(text, "exists", "Ask whether it should be replaced before you do so.")
        case errors.NotEmptyError():
            return _not_empty(error)
        case errors.TooLargeError():
            return Report(f"{quote_name(error.name)} is larger than {error.limit} bytes.", "too_large")
        case errors.UnreadableError():
            return Report(f"{quote_name(error.name)} cannot be used: {error.reason}.", "unreadable")
        case errors.YamlError():
            place = "" if error.line is None else f" (line {error.line})"
            return Report(f"{error.where or 'The text'} {error.reason}{place}.", "bad_yaml")
        case errors.TemplateFailedError():
            place = "" if error.line is None else f", line {error.line}"
            text = f"The template {quote_name(error.document)}{place}: {error.reason.rstrip('.')}."
            return Report(text, "template_failed")
        case OSError():
            return Report(f"The guide's folder cannot be used: {error.strerror or error}.", "storage")
    return Report(str(error), "failed")


def _not_empty(error: errors.NotEmptyError) -> Report:
    if error.strangers:
        names = ", ".join(map(quote_name, error.strangers[:5]))
        text = f"The category {quote_name(error.category)} contains files that are not documents: {names}."
        return Report(text, "not_empty", "Leave it alone; the user can remove it by hand.")
    count = "1 document" if error.documents == 1 else f"{error.documents} documents"
    text = f"The category {quote_name(error.category)} has {count}."
    return Report(text, "not_empty", "Set with_documents only if the user wants them removed as well.")
