"""ProjectTrust: the trust that a person has given to one project, looked up again when it has changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcp_core.quick_dataclass import dataclass
from ot.errors import ConfigError
from ot.trust.folder_files import FolderFiles, read_folder, read_inside
from ot.trust.store import TrustRecord, TrustStore
from ot.trust.untrusted import trust_command


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
        """Return a state that changes with what was trusted."""
        return self.store.state(self.project)

    def record(self) -> TrustRecord:
        """Return what was trusted."""
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
        """Compare the folder as it is with what was trusted; one that cannot be read is refused as a whole."""
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


def compare(files: FolderFiles, record: TrustRecord) -> Comparison:
    """Compare files with what was trusted."""
    known = record.digests
    changed = [name for name, content in files.contents.items() if name in known and not record.holds(name, content)]
    return Comparison(
        new=tuple(sorted(files.contents.keys() - known.keys())),
        changed=tuple(sorted(changed)),
        gone=tuple(sorted(known.keys() - files.contents.keys())),
        refused=tuple(f"{name}: {reason}" for name, reason in sorted(files.refused.items())),
    )
