"""TrustStore: what a person has trusted, in their state folder; files are written whole, under a lock."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from pathlib import Path

from mcp_core.atomic_write import write_file, write_private
from mcp_core.file_lock import hold
from mcp_core.private_files import make_private
from mcp_core.quick_dataclass import dataclass
from ot.logs import write_log
from ot.store.forms import FORM, check_form, keep_newer_file, read_mapping
from ot.store.owned_files import state_of

_MOST = 4096  # bytes of such a file
_FORM = 1
_RECORD = "record.json"
_COPIES = "files"
_PATIENCE = 30.0  # seconds for another process that writes here


def main_folder(project: Path) -> Path:
    """Return where a project really lies; for one in a git worktree, the same folder in the main one."""
    # The worktree's word is not enough: the main folder's `.git/worktrees` must point back at it.
    real = Path(os.path.realpath(project))
    for root in (real, *real.parents):
        link = root / ".git"
        if link.is_dir():
            break
        if link.is_file():
            main = _main_of(root, link)
            return real if main is None else main / real.relative_to(root)
    return real


def _main_of(root: Path, link: Path) -> Path | None:
    word, _, path = _read(link).partition(": ")
    own = Path(os.path.realpath(root / path))  # .git/worktrees/NAME of the main folder
    repository = own.parent.parent
    if word != "gitdir" or own.parent.name != "worktrees" or repository.name != ".git" or not repository.is_dir():
        return None
    back = _read(own / "gitdir")
    return repository.parent if back and os.path.realpath(own / back) == str(link) else None


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return os.fsdecode(stream.read(_MOST)).strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """The trusted files of a project; they are used from their copies, which nobody changes after the comparison."""

    copies: Path  # the folder of the files as they were trusted
    digests: Mapping[str, str] = field(default_factory=dict)  # by the path below `.onetool`

    def holds(self, name: str, content: bytes) -> bool:
        return self.digests.get(name) == digest(content)

    def copy(self, name: str) -> bytes | None:
        """Return a file as it was trusted; None if it was not, or if its copy is damaged."""
        if name not in self.digests:
            return None
        try:
            content = self.place(name).read_bytes()
        except OSError:
            return None
        return content if self.holds(name, content) else None

    def place(self, name: str) -> Path:
        return self.copies / name


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class TrustStore:
    """One folder a project, named by the digest of where it lies; a git worktree shares that of its main folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "trust"

    def record(self, project: Path) -> TrustRecord:
        """Return what was trusted of a project; a record that cannot be read trusts nothing."""
        place = self.place(project)
        return TrustRecord(place / _COPIES, self._read(place))

    def state(self, project: Path) -> tuple[int, ...]:
        """Return a state that changes with the record; at the cost of a `stat`."""
        return state_of(self.place(project) / _RECORD)

    def trust(self, project: Path, contents: Mapping[str, bytes], *, whole: bool) -> None:
        """Trust files as they are given; `whole` forgets all others of the project. Raises OSError."""
        # Copies first, then the record: whatever comes between, no file counts as trusted that nobody saw.
        place = self.place(project)
        with self._locked():
            keep_newer_file(place / _RECORD, _FORM)
            before = self._read(place)
            kept = {} if whole else {name: known for name, known in before.items() if name not in contents}
            for name in before.keys() - kept.keys() - contents.keys():
                (place / _COPIES / name).unlink(missing_ok=True)
            for name, content in contents.items():
                _write_copy(place / _COPIES, name, content)
            digests = {**kept, **{name: digest(content) for name, content in contents.items()}}
            facts = {FORM: _FORM, "project": str(main_folder(project)), "files": dict(sorted(digests.items()))}
            write_private(place / _RECORD, json.dumps(facts, indent=1))

    def revoke(self, project: Path) -> bool:
        """Forget a project; False if there was nothing to forget. Raises OSError."""
        place = self.place(project)
        with self._locked():
            try:
                (place / _RECORD).unlink()
            except FileNotFoundError:
                return False
            _remove_tree(place)
        return True

    def projects(self) -> dict[Path, int]:
        """Return every project that was trusted, with the number of its files."""
        found: dict[Path, int] = {}
        for record in sorted(self._folder.glob(f"*/{_RECORD}")):
            facts = _read_facts(record)
            if facts is not None:
                found[Path(facts[0])] = len(facts[1])
        return found

    def place(self, project: Path) -> Path:
        return self._folder / hashlib.sha256(os.fsencode(main_folder(project))).hexdigest()[:32]

    def _read(self, place: Path) -> Mapping[str, str]:
        facts = _read_facts(place / _RECORD)
        return {} if facts is None else facts[1]

    def _locked(self) -> AbstractContextManager[None]:
        return hold(self._folder / "lock", patience=_PATIENCE)


def _read_facts(record: Path) -> tuple[str, dict[str, str]] | None:
    try:
        found = check_form(json.loads(record.read_bytes()), _FORM)
        return str(found["project"]), {name: str(known) for name, known in read_mapping(found["files"]).items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as error:
        write_log(logging.ERROR, "trust.record", file=record, reason=str(error))
        return None


def _write_copy(copies: Path, name: str, content: bytes) -> None:
    file = copies / name
    with suppress(OSError):
        if file.read_bytes() == content:
            return
    for parent in reversed(file.relative_to(copies).parents):
        if (copies / parent).is_file():  # it was a file when it was last trusted
            (copies / parent).unlink()
    if file.is_dir():
        _remove_tree(file)
    make_private(file.parent)
    write_file(file, content, mode=0o600)


def _remove_tree(folder: Path) -> None:
    import shutil  # noqa: PLC0415 - every command looks at what was trusted, and few change it

    shutil.rmtree(folder)
