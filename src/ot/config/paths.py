"""The places of OneTool's files: the project's folder, the person's folder, and what is in them."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_core.private_files import close_to_others, make_private
from mcp_core.quick_dataclass import dataclass
from ot.errors import ConfigError

FOLDER = ".onetool"
TOOLS = "tools"
SKILLS = "skills"
CONFIG_FILE = "onetool.yaml"
PROMPTS_FILE = "prompts.yaml"
SECRETS_FILE = "secrets.yaml"


@dataclass(frozen=True, slots=True)
class Places:
    """The project root, and the folders that may hold configuration; `project_folder` is None where none was found."""

    project: Path
    project_folder: Path | None
    home_folder: Path


def find_places(*, cwd: Path, home: Path, named: Path | None) -> Places:
    """Find the project: that of a file named inside a `.onetool` folder, else the nearest one at or above `cwd`."""
    # Without any, the project is `cwd` itself. The person's own folder is never taken for a project's.
    home_folder = home / FOLDER
    if named is not None and named.parent.name == FOLDER and not _same(named.parent, home_folder):
        folder: Path | None = named.parent
    else:
        folder = _find_project_folder(cwd, home)
    return Places(folder.parent if folder else cwd, folder, home_folder)


def state_folder(home: Path) -> Path:
    """Return the folder for what the server itself makes (tokens, caches, statistics); it is not created here."""
    # If it exists, is ours and lets others in, it is closed to them: who can open a lock can keep it.
    folder = home / FOLDER / "state"
    close_to_others(folder)
    return folder


def kept_log(home: Path) -> Path:
    """Return the file for what went wrong where no `log.file` is configured."""
    return state_folder(home) / "log" / "onetool.log"


@dataclass(frozen=True, slots=True)
class PackFolders:
    state: Path

    def folder_of(self, pack: str) -> Path:
        """Return the folder of one pack, made if need be."""
        folder = self.state / "packs" / pack
        make_private(folder)
        return folder


def closed_places(*, project: Path, home: Path) -> tuple[str, ...]:
    """Return what a process that is given the project's folder does not get with it: configuration and secrets."""
    secrets = (project / name for name in (SECRETS_FILE, Path(SECRETS_FILE).with_suffix(".yml")))
    return tuple(str(place) for place in (home / FOLDER, project / FOLDER, *secrets))


def tool_folders(project: Path, home: Path) -> tuple[Path, Path]:
    """Return the folders of extension files, nearest first; they need not exist."""
    return (project / FOLDER / TOOLS, home / FOLDER / TOOLS)


def skill_folders(project: Path, home: Path) -> tuple[Path, Path]:
    """Return the folders of skills, nearest first; they need not exist."""
    return (project / FOLDER / SKILLS, home / FOLDER / SKILLS)


def belongs_to_stranger(folder: Path, *, or_root: bool = False) -> bool:
    """True if the folder belongs to another user, as git sees it: behind sudo, the one who typed it is no stranger."""
    # `or_root` is for folders of the person, which an administrator may have put there.
    own, typed_by = os.geteuid(), os.environ.get("SUDO_UID", "")
    known = {own, int(typed_by)} if own == 0 and typed_by.isdecimal() else {own}
    try:
        return folder.stat().st_uid not in (known | {0} if or_root else known)
    except OSError:
        return True


def absolute(text: str, *, folder: Path, home: Path) -> Path:
    """Return `text` as an absolute path: relative to `folder`, with `home` for `~`; symbolic links are kept."""
    # `~name` of an unknown user is returned as it is, for the models to refuse.
    if text == "~" or text.startswith(("~/", f"~{os.sep}")):
        return Path(os.path.normpath(home / text[2:]))
    try:
        return Path(os.path.normpath(folder / Path(text).expanduser()))
    except RuntimeError:
        return Path(text)


def present(file: Path) -> bool:
    """True if something has this name, even a broken link; a name that cannot be looked up counts as present."""
    # So reading it says what is wrong, where asking `exists()` would quietly skip it.
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def find_file(folder: Path | None, name: str) -> Path | None:
    """Return the file `name` in `folder`, if there is one; in a `.onetool` folder, the ending `.yml` is a mistake."""
    if folder is None or not _is_folder(folder):
        return None
    misnamed = (folder / name).with_suffix(".yml")
    if folder.name == FOLDER and present(misnamed):
        raise ConfigError("a file of this name is not read", file=misnamed, fix=f"rename it to {name}")
    return folder / name if present(folder / name) else None


def _find_project_folder(cwd: Path, home: Path) -> Path | None:
    """Find the nearest; that of another user, who can change what is in it, is refused: in /tmp, anybody makes one."""
    for parent in (cwd, *cwd.parents):
        folder = parent / FOLDER
        if _same(parent, home):
            return None
        if _is_folder(folder):
            for part in (folder, parent, cwd):
                if belongs_to_stranger(part):
                    fix = f"name its file with --config {folder / CONFIG_FILE} if you trust it"
                    raise ConfigError("this folder belongs to another user", file=part, fix=fix)
            return folder
    return None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # inside a folder that is closed to us, such as another user's home
        return False


def _same(first: Path, second: Path) -> bool:
    return os.path.realpath(first) == os.path.realpath(second)
