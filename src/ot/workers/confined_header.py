"""`[tool.onetool] confine` in the header of an extension: what its worker may touch."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_core.json_types import Json
from ot.config.confine import ConfineSettings
from ot.config.reading import SettingsError
from ot.workers.header_options import CONFINE, HeaderMistakeError, read_options, word_mistake
from ot.workers.pep723 import ScriptHeader
from ot_confinement.places import lies_within

_PROJECT = "{project}"
_PATHS = ("read", "write")


def read_confine(header: ScriptHeader, file: Path, *, project: Path) -> ConfineSettings | None:
    """Return the bounds of an extension, None if it has none; raises HeaderMistakeError.

    Paths are seen from the extension's folder, `~` is the person's home, and `{project}` the project's folder.
    """
    options = read_options(header)
    if CONFINE not in options:
        return None
    try:
        confine = ConfineSettings.model_validate(_with_whole_paths(options[CONFINE], file.parent, project))
    except SettingsError as error:
        raise word_mistake(error, CONFINE) from error
    if lies_within(os.path.realpath(file), map(os.path.realpath, confine.write)):
        raise HeaderMistakeError("confine.write in its header opens the file itself, which could lift its own bounds")
    return confine


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
