"""A picture as a file: its format by the ending of its path, its bytes into the helper's own folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TypedDict

from ot.context import current
from ot.errors import ToolError

_SAME = {"jpg": "jpeg", "gv": "dot"}


class Written(TypedDict):
    """A picture that was written to a file."""

    path: str
    format: str
    size: int


def format_of(output: str | None, formats: Sequence[str]) -> str:
    """Return the format that the ending of a path asks for, the first one without a path; raises ToolError."""
    if output is None:
        return formats[0]
    ending = PurePath(output).suffix.removeprefix(".").lower()
    form = _SAME.get(ending, ending)
    if form not in formats:
        endings = ", ".join(f".{known}" for known in formats)
        raise ToolError(f"output {output!r} must end in one of {endings}")
    return form


def write_picture(picture: bytes, output: str, form: str) -> Written:
    """Write a picture where the server takes it from."""
    current().output("output").write_bytes(picture)
    return {"path": output, "format": form, "size": len(picture)}
