"""The form of a file in the state folder: a file names its form, and what another version wrote is never guessed at.

A form's number rises when an older OneTool would misread the file. Whoever reads a file of another form takes it for
absent and says so; databases are brought to their newest form instead (`ot.store.databases`).
"""

from __future__ import annotations

from mcp_core.json_types import Json, JsonObject

FORM = "form"
"""The key of a file, or of its first line, that names its form."""


class UnknownFormError(ValueError):
    """A file has a form that is not read here; its text says who wrote it."""


def check_form(found: Json, known: int, *, unnamed: int | None = None) -> JsonObject:
    """Return the facts of a file if they have the known form; raises UnknownFormError.

    `unnamed` is the form of files from before they named one; None where all of them do.
    """
    if not isinstance(found, dict):
        raise UnknownFormError("it has an unknown format")
    form = found.get(FORM, unnamed)
    if form == known:
        return found
    if not isinstance(form, int):
        raise UnknownFormError("it has an unknown format")
    who = "a newer" if form > known else "an older"
    raise UnknownFormError(f"{who} OneTool wrote it (form {form}, this one knows {known})")
