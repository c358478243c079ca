"""Names of kept values: the stored result that each refers to, for one principal in one project."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_core.atomic_write import write_private
from mcp_core.file_lock import hold
from ot.store.forms import FORM, check_form, read_number
from ot.store.owner import Owner, digest_of_owner

KEPT_FOLDER, ANSWERS_FOLDER = "kept", "answers"
MOST_NAMES = 1000  # of one owner
_FORM = 1
_ENDING = ".json"
_LOCK = "lock"
_PATIENCE = 10.0  # seconds for another process that writes here
REMEMBERED = 86400.0  # seconds for which a name is known after its value has gone


class KeptEntry(NamedTuple):
    """The stored result behind a name, and when it goes."""

    handle: str
    expires: float


class KeptNames(Protocol):
    """The names of all owners. Every method blocks, and raises OSError where the store cannot be used."""

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None: ...
    def get(self, owner: Owner, name: str) -> KeptEntry | None: ...
    def entries(self, owner: Owner) -> dict[str, KeptEntry]: ...


class EmbeddedKeptNames:
    """A small file for each name, in a folder for each owner below the state folder; all servers of a person share it.

    A name is part of a path here: whoever calls has checked that it is made of letters, digits, `_`, `-` and `.`, and
    does not begin with a dot.
    """

    def __init__(self, state: Path, *, folder: str = KEPT_FOLDER) -> None:
        self._folder = state / folder

    def put(self, owner: Owner, name: str, entry: KeptEntry, *, now: float) -> KeptEntry | None:
        """Let a name refer to a result from now on, and return the one before."""
        folder = self._folder_of(owner)
        with hold(folder / _LOCK, patience=_PATIENCE):
            known = self.entries(owner)
            for gone, each in list(known.items()):
                if each.expires < now - REMEMBERED:
                    _file_in(folder, gone).unlink(missing_ok=True)
                    del known[gone]
            if name not in known and len(known) >= MOST_NAMES:
                raise OSError(errno.EDQUOT, f"there are {MOST_NAMES:,} kept values already")
            write_private(_file_in(folder, name), json.dumps({FORM: _FORM, **entry._asdict()}))
            return known.get(name)

    def get(self, owner: Owner, name: str) -> KeptEntry | None:
        """Return the result that a name refers to; None if the name is not used."""
        return _read(_file_in(self._folder_of(owner), name))

    def entries(self, owner: Owner) -> dict[str, KeptEntry]:
        """Return the results of all names, in alphabetical order."""
        found: dict[str, KeptEntry] = {}
        for file in sorted(self._folder_of(owner).glob(f"[!.]*{_ENDING}")):
            entry = _read(file)
            if entry is not None:
                found[file.name.removesuffix(_ENDING)] = entry
        return found

    def _folder_of(self, owner: Owner) -> Path:
        return self._folder / digest_of_owner(owner)


def _file_in(folder: Path, name: str) -> Path:
    return folder / f"{name}{_ENDING}"


def _read(file: Path) -> KeptEntry | None:
    """Read the result that a name refers to; None where the file cannot be read."""
    try:
        facts = check_form(json.loads(file.read_bytes()), _FORM, unnamed=1)
        return KeptEntry(str(facts["handle"]), read_number(facts["expires"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
