"""AllowedFiles: the files that tools may reach, and the one way to them.

The roots are the project, the person's `projects` and `roots`. Inside them too, the person's own `.onetool` folder, the
files of their configuration and any secrets.yaml are closed, nothing is written below a folder named `.onetool`, and
only plain files and folders are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mcp_core.atomic_write import open_folder, opened, replacing
from ot.config.loader import LoadedConfig
from ot.config.paths import FOLDER, SECRETS_FILE
from ot.context import current
from ot.errors import MissingPathError, PathError, PathRefusedError
from ot.files import changes
from ot.files.walk import Identity, Version, Way, begin, go, identity_of, still
from ot_system.opening import ENTER_FOLDER

AnyPath = str | os.PathLike[str]

SECRET_NAMES = frozenset({SECRETS_FILE, str(Path(SECRETS_FILE).with_suffix(".yml"))})
"""Names of files that are never read or written, in any case of letters."""

_LONGEST = 4096  # bytes of a path
_SYSTEM = (Path("/proc"), Path("/sys"), Path("/dev"))
_IN_MEMORY = Path("/dev/shm")  # ordinary files, though below /dev
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # opening a pipe must not wait for its other end
_REASONS = {
    errno.EEXIST: "something with this name already exists",
    errno.ENOTDIR: "a part of it is a file, not a folder",
    errno.ELOOP: "its links form a loop",
    errno.ENOTEMPTY: "the folder is not empty",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class FolderItem(NamedTuple):
    """A name in a folder, with the status of what has it; a link is not followed."""

    name: str
    status: os.stat_result


class ResolvedPath(NamedTuple):
    """An allowed place: the open folder that holds it, its name there, its real path and its status, if it exists."""

    folder: int
    name: str
    place: Path
    status: os.stat_result | None


class AllowedFiles:
    """The files inside of the roots. A relative path starts at the project, `~` is the person's home.

    Every method that takes a path raises PathRefusedError where it leads elsewhere, MissingPathError where nothing is
    there, PathError for anything else that the system does not do. All of them block for as long as the disk does.
    """

    def __init__(self, roots: Sequence[Path], *, project: Path, home: Path, closed: Sequence[Path] = ()) -> None:
        # Resolved once: a root that becomes a link later opens nothing.
        self.roots = tuple(dict.fromkeys(Path(os.path.realpath(root)) for root in roots))
        self.project = project
        self._real_project = Path(os.path.realpath(project))
        self.home = home
        secrets = [folder / FOLDER / SECRETS_FILE for folder in (home, project)]  # by whatever other name they have
        self.closed = (home / FOLDER, *secrets, *closed)
        self._closed_places = frozenset(Path(os.path.realpath(place)) for place in self.closed)

    def locate(self, path: AnyPath, *, write: bool = False) -> Path:
        """Return the real path of what is there, or, to write, of what would be there; its folder exists."""
        with self.reach(path, write=write) as reached:
            if reached.status is None and not write:
                raise _missing(path)
            return reached.place

    def open(self, path: AnyPath, flags: int = os.O_RDONLY) -> int:
        """Open a file, or a folder with O_DIRECTORY, and return its descriptor, which the caller closes."""
        for _ in range(10):  # others may replace it meanwhile
            with self.reach(path, write=bool(flags & _WRITING)) as reached, _worded(path):
                descriptor = self._open_reached(path, reached, flags)
                if descriptor is not None:
                    return descriptor
        raise PathError(str(path), "other programs keep replacing it; try again")

    @contextmanager
    def replace(
        self,
        path: AnyPath,
        *,
        expected: Version | None = None,
        new: bool = False,
        new_mode: int | None = None,
        mode: int | None = None,
    ) -> Iterator[BinaryIO]:
        """Write a file that takes its place whole, with the mode of the one before, when the block ends without error.

        With `expected`, only over the file in that version; `new`: only where nothing has the name. A file that was not
        there gets `new_mode`, any file a `mode` that is given.
        """
        with (
            self.reach(path, write=True) as reached,
            _worded(path),
            self.replace_reached(reached, path, expected=expected, new=new, new_mode=new_mode, mode=mode) as file,
        ):
            yield file

    @contextmanager
    def replace_reached(
        self,
        reached: ResolvedPath,
        path: AnyPath,
        *,
        expected: Version | None = None,
        new: bool = False,
        new_mode: int | None = None,
        mode: int | None = None,
    ) -> Iterator[BinaryIO]:
        """Write the file that was reached; see `replace`. Raises OSError too."""
        require_writable(path, reached)
        given = new_mode if reached.status is None and mode is None else mode
        now: list[changes.Mark] = []
        with (
            open_here(reached.folder) as folder,
            replacing(
                folder,
                reached.name,
                replace=not new,
                mode=given,
                around_rename=_noting(folder, reached, now, expected, path),
            ) as file,
        ):
            yield file
            if changes.is_noted():
                file.flush()
                now.append(changes.mark_of(file.fileno()))

    def remove(self, reached: ResolvedPath) -> None:
        """Remove a file, a link or an empty folder that was reached to be written. Raises OSError."""
        with changes.alone():
            changes.note_change(reached.folder, reached.name, reached.place, None)
            if reached.status is not None and stat.S_ISDIR(reached.status.st_mode):
                os.rmdir(reached.name, dir_fd=reached.folder)
            else:
                os.unlink(reached.name, dir_fd=reached.folder)

    def rename(self, source: ResolvedPath, target: ResolvedPath, *, replace: bool) -> None:
        """Give a file or folder another place; without `replace`, only if nothing has it. Raises OSError."""
        both = source.status, target.status
        if None not in both and len({identity_of(each) for each in both if each is not None}) == 1:
            return _rename(source, target, replace=replace)  # two names of one file stay as they are
        with changes.alone():
            if target.status is not None:
                changes.note_change(target.folder, target.name, target.place, None)
            changes.note_move(source.folder, source.name, source.place, target.place)
            return _rename(source, target, replace=replace)

    def make_link(self, reached: ResolvedPath, target: str) -> None:
        """Make a link where nothing is. Raises OSError."""
        with changes.alone():
            changes.note_change(reached.folder, reached.name, reached.place, [changes.LINK, target])
            os.symlink(target, reached.name, dir_fd=reached.folder)

    @contextmanager
    def make_folder(self, reached: ResolvedPath, mode: int) -> Iterator[int]:
        """Give the folder that was reached, or a new one, open, to get these permissions. Raises OSError."""
        with changes.alone():
            changes.note_change(reached.folder, reached.name, reached.place, [changes.FOLDER, mode])
            if reached.status is None:
                os.mkdir(reached.name, 0o700, dir_fd=reached.folder)
            with opened(reached.name, ENTER_FOLDER, reached.folder) as folder:
                yield folder

    def list(self, path: AnyPath) -> Iterator[FolderItem]:
        """Yield what is in a folder, in the order of the disk; what vanishes meanwhile is left out."""
        folder = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield from items_of(folder)
        finally:
            os.close(folder)

    @contextmanager
    def reach(self, path: AnyPath, *, write: bool = False, follow: bool = True) -> Iterator[ResolvedPath]:
        """Hold on to an allowed place; a link at the end of the path is followed unless `follow` is false."""
        way = begin(self._absolute(path))
        with closing(way):
            try:
                go(way, follow=follow)
            except OSError as error:
                self._check(path, way, write=write)  # outside, nothing is told of what exists
                raise word_path_error(path, error) from error
            self._check(path, way, write=write)
            mode = stat.S_IFREG if way.status is None else stat.S_IFMT(way.status.st_mode)
            if mode not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                reason = "it is neither a file nor a folder, but a device, a pipe or a socket"
                raise PathRefusedError(str(path), reason)
            yield ResolvedPath(way.folder, way.name, way.place, way.status)

    def short(self, place: Path) -> str:
        """Return a real path as tools take it: relative to the project where it lies there."""
        text, above = str(place), str(self._real_project).rstrip("/")
        return (text.removeprefix(f"{above}/") if text != above else "") or "."

    def closed_in(self, folder: Path) -> tuple[Path, ...]:
        """Return the closed places in a folder, from there; all below one of them is closed too."""
        return tuple(place.relative_to(folder) for place in self._closed_places if place.is_relative_to(folder))

    def make_folders(self, path: AnyPath) -> Sequence[Path]:
        """Make a folder, and those that are missing on the way to it; returns those that were made."""
        try:
            return self._make_folder(path)
        except MissingPathError:
            above = os.path.dirname(os.fspath(path).rstrip("/"))  # noqa: PTH120 - a path of any kind
            if not above.strip("/"):
                raise
        return [*self.make_folders(above), *self._make_folder(path)]

    def _make_folder(self, path: AnyPath) -> Sequence[Path]:
        with self.reach(path, write=True) as reached, _worded(path):
            if reached.status is None:
                with suppress(FileExistsError), changes.alone():  # another one made it in this moment
                    changes.note_change(reached.folder, reached.name, reached.place, changes.folder_mark())
                    os.mkdir(reached.name, dir_fd=reached.folder)
                return [reached.place]
            if not stat.S_ISDIR(reached.status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            return []

    def is_closed(self, status: os.stat_result) -> bool:
        """True if something found inside of the roots is closed nevertheless, whatever it is called."""
        return identity_of(status) in self._identities()

    def contains(self, place: Path) -> bool:
        """True for a real path inside of the roots."""
        return any(place.is_relative_to(root) for root in self.roots)

    def is_root(self, place: Path) -> bool:
        """True for a root, and for a folder that holds one."""
        return any(root.is_relative_to(place) for root in self.roots)

    def _absolute(self, path: AnyPath) -> str:
        text = os.fspath(path)
        if not text or "\0" in text:
            raise PathError(text, "a path must not be empty or contain a null character")
        if len(os.fsencode(text)) > _LONGEST:
            raise PathError(f"{text[:60]}…", f"a path may have at most {_LONGEST:,} bytes")
        if text == "~" or text.startswith("~/"):
            return f"{self.home}/{text[1:]}"
        return text if text.startswith("/") else f"{self.project}/{text}"

    def _check(self, path: AnyPath, way: Way, *, write: bool) -> None:
        place = way.place
        if not self.contains(place):
            link = way.link
            subject = "it is" if link is None else f"the link {link.place} leads to {link.target}, which is"
            raise PathRefusedError(str(path), f"{subject} outside {self._name_roots()}")
        if any(place.is_relative_to(folder) for folder in _SYSTEM) and not place.is_relative_to(_IN_MEMORY):
            raise PathRefusedError(str(path), "system files below /proc, /sys and /dev cannot be opened")
        closed = self._identities()
        if any(at in self._closed_places for at in (place, *place.parents)) or any(
            identity_of(step.status) in closed for step in way.steps
        ):
            raise PathRefusedError(str(path), "tools cannot access OneTool's own configuration and state")
        names = [step.name.casefold() for step in way.steps] + [(way.missing or "").casefold()]
        if not SECRET_NAMES.isdisjoint(names):
            raise PathRefusedError(str(path), f"a {SECRETS_FILE} cannot be read or written by tools")
        if write and FOLDER in names:
            raise PathRefusedError(
                str(path), f"tools cannot write below a folder named {FOLDER}; ask the person to make the change"
            )

    def _identities(self) -> set[Identity]:
        """Return what is closed under any name: a folder that is mounted twice, a file with a second name."""
        found: set[Identity] = set()
        for place in self.closed:
            with suppress(OSError):
                found.add(identity_of(place.stat()))
        return found

    def _name_roots(self) -> str:
        if not self.roots:
            return "the folders that tools may use: you don't have access to the files of this server"
        named = ", ".join(map(str, self.roots[:5])) + (" …" if len(self.roots) > 5 else "")
        return f"the folders that tools may use: {named}. A person can add one to `roots` in their onetool.yaml"

    def _open_reached(self, path: AnyPath, reached: ResolvedPath, flags: int) -> int | None:
        """Open what was reached; None where something else has its name by now."""
        if reached.status is None:
            if not flags & os.O_CREAT:
                raise _missing(path)
            return os.open(reached.name, flags | os.O_EXCL | _OPEN, 0o666, dir_fd=reached.folder)
        if stat.S_ISDIR(reached.status.st_mode) and not flags & os.O_DIRECTORY:
            raise PathError(str(path), "it is a folder")
        try:
            later = flags & ~(os.O_CREAT | os.O_TRUNC | os.O_EXCL)
            descriptor = os.open(reached.name or ".", later | _OPEN, dir_fd=reached.folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOENT, errno.ENXIO):
                return None
            raise
        if not self._may_stand_for(os.fstat(descriptor), reached.status):
            os.close(descriptor)
            return None
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        return descriptor

    def _may_stand_for(self, opened: os.stat_result, reached: os.stat_result) -> bool:
        """True if what was opened was reached, or is a file that has taken the place of a file since.

        Looking again for each new file would never end beside a program that replaces it all the time.
        """
        if identity_of(opened) == identity_of(reached):
            return True
        return stat.S_ISREG(opened.st_mode) and stat.S_ISREG(reached.st_mode) and not self.is_closed(opened)


@contextmanager
def _noting(
    folder: int, reached: ResolvedPath, now: Sequence[changes.Mark], expected: Version | None, path: AnyPath
) -> Iterator[None]:
    """Note a change around the moment in which it happens; before that, the file must be in the `expected` version."""
    guard = nullcontext() if expected is None else still(expected, folder, reached.name, path=path)
    with guard, changes.alone():
        if now:
            changes.note_change(folder, reached.name, reached.place, now[0])
        yield


def _rename(source: ResolvedPath, target: ResolvedPath, *, replace: bool) -> None:
    if not replace:
        try:
            os.link(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}:
                raise
        else:
            os.unlink(source.name, dir_fd=source.folder)
            return
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def allowed_files() -> AllowedFiles:
    """Return the files that the call being made may reach."""
    return current().part(AllowedFiles)


def build_allowed_files(loaded: LoadedConfig, *, also: Sequence[Path] = ()) -> AllowedFiles:
    """Build the allowed files of a configuration; the files that it was read from are closed, wherever they lie.

    The project is nobody's own where many share the server: those for whom it is open have it among their roots.
    """
    shared = loaded.administrator is not None
    return AllowedFiles(
        (*(() if shared else (loaded.project,)), *loaded.roots, *also),
        project=loaded.project,
        home=loaded.home,
        closed=[
            *(file for file in loaded.files if file.parent != loaded.project / FOLDER),
            *([loaded.machine_home / FOLDER] if shared else ()),
        ],
    )


def items_of(folder: int) -> Iterator[FolderItem]:
    """Yield what is in an open folder; what vanishes meanwhile is left out."""
    with os.scandir(folder) as found:
        for item in found:
            with suppress(FileNotFoundError):
                yield FolderItem(item.name, item.stat(follow_symlinks=False))


def open_here(folder: int) -> AbstractContextManager[int]:
    """Open the folder of a descriptor that only marks a place, to list it, lock it or write it through."""
    return open_folder(".", within=folder)


@contextmanager
def _worded(path: AnyPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise word_path_error(path, error) from error


def word_path_error(path: AnyPath, error: OSError) -> PathError:
    """Return what the system said about a path as an error for the caller."""
    if isinstance(error, FileNotFoundError):
        return _missing(path)
    if isinstance(error, PermissionError):
        return PathRefusedError(str(path), "permission denied by the operating system")
    return PathError(str(path), _REASONS.get(error.errno or 0) or error.strerror or str(error))


def _missing(path: AnyPath) -> MissingPathError:
    return MissingPathError(str(path), os.strerror(errno.ENOENT))


def require_writable(path: AnyPath, reached: ResolvedPath) -> None:
    """Raise where there is no file to be replaced; one that its owner has made read-only is not replaced either."""
    if reached.status is None:
        return
    if not stat.S_ISREG(reached.status.st_mode):
        raise PathError(str(path), "it is a folder")
    if not reached.status.st_mode & 0o222 or not os.access(reached.name, os.W_OK, dir_fd=reached.folder):
        raise PathRefusedError(str(path), "the file is read-only")


def is_closed_name(name: str) -> bool:
    """True for the name of a file or folder that tools do not change, wherever it lies."""
    return name.casefold() in {FOLDER, *SECRET_NAMES}
