"""`[tool.onetool] confine` in the header of an extension: what its worker may touch."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from mcp_core.json_types import Json
from ot.config.confine import ConfineSettings
from ot.workers.pep723 import ScriptHeader
from ot_confinement.places import lies_within

_PROJECT = "{project}"
_PATHS = ("read", "write")


class ConfineMistakeError(Exception):
    """The header says `confine` in a way that cannot be read; the text says where, and what would be right."""


def read_confine(header: ScriptHeader, file: Path, *, project: Path) -> ConfineSettings | None:
    """Return the bounds of an extension, None if it has none; raises ConfineMistakeError.

    Paths are seen from the extension's folder, `~` is the person's home, and `{project}` the project's folder.
    """
    options = header.tool.get("onetool", {})
    if not isinstance(options, dict) or set(options) - {"confine"}:
        raise ConfineMistakeError("[tool.onetool] in its header is a table with the key `confine`, and no other")
    if "confine" not in options:
        return None
    try:
        confine = ConfineSettings.model_validate(_with_whole_paths(options["confine"], file.parent, project))
        if lies_within(os.path.realpath(file), map(os.path.realpath, confine.write)):
            raise ConfineMistakeError(
                "confine.write in its header opens the file itself, which could lift its own bounds"
            )
        return confine
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(map(str, ("confine", *first["loc"])))
        fix = first.get("ctx", {}).get("fix")
        reason = f"{key} in its header: {first['msg']}"
    raise ConfineMistakeError(f"{reason}; {fix}" if fix else reason)


def _with_whole_paths(confine: Json, folder: Path, project: Path) -> Json:
    if not isinstance(confine, dict):
        return confine
    whole = dict(confine)
    for key in _PATHS:
        paths = whole.get(key)
        if isinstance(paths, list):
            whole[key] = [_whole(path, folder, project) if isinstance(path, str) and path else path for path in paths]
    return whole


def _whole(path: str, folder: Path, project: Path) -> str:
    text = path.replace(_PROJECT, str(project))
    return text if text.startswith("~") else str(folder / text)
