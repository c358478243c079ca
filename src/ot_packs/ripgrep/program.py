"""Ripgrep, run over one folder or file: no settings but ours, no other program, nothing outside of the roots."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ot.config.paths import FOLDER
from ot.context import current
from ot.errors import PathRefusedError, ToolError
from ot.files.allowed_files import SECRET_NAMES, AllowedFiles
from ot.processes.run_program import Finished, Take, run_program
from ot.processes.standby import Standby
from ot_confinement.confine import Confine
from ot_confinement.own_files import executables_of
from ot_packs.program_output import said

_FIXED = (
    "--no-config", "--no-messages", "--no-follow", "--no-pre", "--no-search-zip", "--no-ignore-global",
    "--engine=default", "--color=never", "--regex-size-limit=50M", "--dfa-size-limit=100M",
)  # fmt: skip
_NEVER_SEARCHED = (FOLDER, *sorted(SECRET_NAMES))
_MEMORY = 1024**3  # bytes: a line is held whole, however long it is
_SPECIAL = re.compile(r"[][*?{}\\!]")
_NOTHING_FOUND, _FAILED = 1, 2
_WRONG_PATTERN = re.compile(r"^error: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Searched:
    """The folder or file to search, by its real path, and the words for what in it is not searched."""

    place: Path
    folder: Path
    roots: tuple[str, ...]
    closed: tuple[str, ...]


def find_searched(files: AllowedFiles, path: str) -> Searched:
    """Return what a path means; raises PathError."""
    place = files.locate(path)
    if FOLDER in place.parts:
        raise PathRefusedError(path, f"what lies in a folder named {FOLDER} is never searched")
    folder = place if place.is_dir() else place.parent
    roots = tuple(str(root) for root in files.roots if place.is_relative_to(root))
    closed = [*_NEVER_SEARCHED, *("/" + _SPECIAL.sub(r"\\\g<0>", str(found)) for found in files.closed_in(folder))]
    # These come after all patterns of the caller, so nothing that they say brings it back.
    return Searched(place, folder, roots, tuple(f"--iglob=!{pattern}" for pattern in closed))


async def run_ripgrep(program: Path, searched: Searched, words: Sequence[str], on_output: Take) -> bool:
    """Search, and pass on what is printed until no more is wanted; True if that was all. Raises ToolError."""
    done = await run_program(
        [str(program), *_FIXED, *words, *searched.closed, "--", str(searched.place)],
        environ={"LC_ALL": "C.UTF-8", **{name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}},
        cwd=searched.folder,
        on_output=on_output,
        confine=Confine((str(program), *searched.roots), memory=_MEMORY, programs=executables_of(program)),
        standby=current().part(Standby),
    )
    if not done.stopped:
        _require_success(done)
    return not done.stopped


def _require_success(done: Finished) -> None:
    """Raise ToolError for what did not work; a file that cannot be read is left out and no failure."""
    if done.status in (0, _NOTHING_FOUND) or (done.status == _FAILED and not done.tail):
        return
    if done.status != _FAILED:
        reason = done.explanation or (said(done.tail) if done.tail else f"ended with status {done.status}")
        raise ToolError(f"ripgrep {reason}; a file with a very long line can be left out with glob='!NAME'")
    wrong = _WRONG_PATTERN.search(done.tail)
    if wrong is not None:
        raise ToolError(f"query= is not a regular expression for ripgrep: {wrong[1]}. literal=True takes it as it is")
    reason, advice, _ = done.tail.partition("\n\nConsider enabling multiline mode")
    if advice:
        raise ToolError("query= can match within one line only, so it cannot contain the end of a line")
    raise ToolError(f"ripgrep says: {said(reason)}{'; use glob=' if 'file type' in reason else ''}")
