"""ProjectTrust: the trust that a person has given to one project, looked up again when it has changed."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_core.quick_dataclass import dataclass
from ot.errors import ConfigError
from ot_system.opening import READ_FILE

if TYPE_CHECKING:  # every command reads a configuration, and few look at trust
    from ot.trust.store import TrustRecord, TrustStore

MOST_FILES = 2000
MOST_BYTES = 5_000_000  # of one file
MOST_TOGETHER = 50_000_000  # bytes of all of them
_OF_PYTHON = "__pycache__"
"""Python's own caches are never trusted or used: they may hold other code than the source beside them."""


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Every file below a folder by its path there, with `/` in it, and what cannot be trusted, with the reason."""

    folder: Path
    contents: Mapping[str, bytes]
    refused: Mapping[str, str]


def read_folder(folder: Path) -> FolderFiles:
    """Read a project's `.onetool` folder once, to show, trust and compare it; raises ConfigError for another's."""
    refuse_link(folder)
    contents: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    left = MOST_TOGETHER
    for name in _names(folder):
        if len(contents) + len(refused) >= MOST_FILES or left < 0:
            most = f"{MOST_FILES:,} files, or {MOST_TOGETHER:,} bytes"
            raise ConfigError(f"holds more than {most}", file=folder, fix="move what OneTool does not need elsewhere")
        try:
            contents[name] = read_inside(folder, name)
            left -= len(contents[name])
        except OSError as error:
            refused[name] = error.strerror or str(error)
    return FolderFiles(folder, contents, refused)


def refuse_link(folder: Path) -> None:
    """Raise ConfigError where the folder is a link: its files would be those of another place."""
    if os.path.realpath(folder) != os.path.join(os.path.realpath(folder.parent), folder.name):  # noqa: PTH118
        raise ConfigError("is a link to another place", file=folder, fix="put a folder there, or remove the link")


def read_inside(folder: Path, name: str) -> bytes:
    """Read one file below a folder; raises OSError, also where a link leads out of it."""
    real = os.path.realpath(folder / name)
    if not Path(real).is_relative_to(os.path.realpath(folder)):
        raise OSError(0, "a link leads out of the folder")
    descriptor = os.open(real, READ_FILE)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "not a regular file")
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(0, f"larger than {MOST_BYTES:,} bytes")
    return content


def _names(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
        folders[:] = sorted(name for name in folders if name != _OF_PYTHON and name not in links)
        for name in sorted([*files, *links]):
            if not name.endswith((".pyc", ".pyo")):
                yield Path(parent, name).relative_to(folder).as_posix()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files of a project that are not as they were trusted, sorted by their paths below `.onetool`."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # each with the reason

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    @property
    def untrusted(self) -> tuple[str, ...]:
        """The files that are there and that nobody has trusted as they are."""
        return tuple(sorted((*self.new, *self.changed)))


@dataclass(frozen=True, slots=True)
class ProjectTrust:
    """One project's folder, and the store that knows what was trusted of it."""

    folder: Path  # its `.onetool`
    store: TrustStore

    @property
    def project(self) -> Path:
        return self.folder.parent

    def state(self) -> tuple[int, ...]:
        return self.store.state(self.project)

    def record(self) -> TrustRecord:
        return self.store.record(self.project)

    def accept(self, files: Iterable[Path]) -> None:
        """Trust files of the project as they are now, for those who have just written them; raises OSError."""
        names = [file.relative_to(self.folder).as_posix() for file in files]
        self.store.trust(self.project, {name: read_inside(self.folder, name) for name in names}, whole=False)

    def accept_content(self, file: Path, content: bytes) -> None:
        """Trust one file as a person was shown it, whatever it holds by now; raises OSError."""
        self.store.trust(self.project, {file.relative_to(self.folder).as_posix(): content}, whole=False)

    def refuse_untrusted(self) -> None:
        """Raise ConfigError where a file lies in the folder that nobody has trusted: what is beside it could use it."""
        found = self.compare()
        if found.untrusted or found.refused:
            reason = "holds files that you have not trusted" if found.untrusted else found.refused[0]
            raise ConfigError(reason, file=self.folder, fix=f"look at them first: {trust_command(self.project)}")

    def compare(self) -> Comparison:
        if not self.folder.exists():
            return Comparison()
        try:
            return compare(read_folder(self.folder), self.record())
        except ConfigError as error:
            return Comparison(refused=(f"{self.folder.name}: {error.reason}",))


class TrustedFiles:
    """The files of a project at one moment: the record is read once."""

    def __init__(self, trust: ProjectTrust) -> None:
        self._folder = trust.folder
        self._record = trust.record()

    def read(self, file: Path) -> bytes:
        """Read a file that nobody may have trusted; raises OSError, also for a link that leads out."""
        return read_inside(self._folder, file.relative_to(self._folder).as_posix())

    def copy_of(self, file: Path) -> Path | None:
        """Return the copy of a file that is as it was trusted; None for any other, and for a link that leads out."""
        name = file.relative_to(self._folder).as_posix()
        if name not in self._record.digests:
            return None
        try:
            content = self.read(file)
        except OSError:
            return None
        return self._record.place(name) if self._record.copy(name) == content else None

    def changed_name(self, file: Path) -> str:
        """Return the path in the folder of a file that was trusted before it changed; empty if it never was."""
        name = file.relative_to(self._folder).as_posix()
        return name if name in self._record.digests else ""


def compare(files: FolderFiles, record: TrustRecord) -> Comparison:
    known = record.digests
    changed = [name for name, content in files.contents.items() if name in known and not record.holds(name, content)]
    return Comparison(
        new=tuple(sorted(files.contents.keys() - known.keys())),
        changed=tuple(sorted(changed)),
        gone=tuple(sorted(known.keys() - files.contents.keys())),
        refused=tuple(f"{name}: {reason}" for name, reason in sorted(files.refused.items())),
    )


@dataclass(frozen=True, slots=True)
class Untrusted:
    """The configuration of a project, as far as it is not in force; its tools are listed elsewhere."""

    project: Path
    files: tuple[str, ...] = ()  # nobody has trusted them: not read, or only for names
    changed: tuple[str, ...] = ()  # in force as they were when they were trusted
    broken: tuple[str, ...] = ()  # what is wrong with files that nobody has trusted
    servers: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()
    aliases: frozenset[str] = frozenset()  # these are read, and give way to everything else

    def __bool__(self) -> bool:
        return bool(self.files or self.changed)

    @property
    def remedy(self) -> str:
        return trust_command(self.project)


def trust_command(project: Path) -> str:
    return f"onetool trust {shlex.quote(str(project))}"
