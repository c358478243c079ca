"""Windows as a distribution of WSL sees it: the folder of its user, and commands that lead from one to the other."""

from __future__ import annotations

import ntpath
import os
import pwd
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mcp_core.json_types import Json, JsonObject, mapping_of
from ot.errors import ConfigError

DISTRIBUTION_VARIABLE = "WSL_DISTRO_NAME"
_USUAL_DRIVE = Path("/mnt/c")
_PATIENCE = 20.0  # seconds; the first program of Windows that a distribution starts takes a few
_DRIVE_PATH = re.compile(r"([A-Za-z]):[\\/](.*)", re.DOTALL)
_BATCH = frozenset({".bat", ".cmd"})
_PROGRAMS = _BATCH | {".com", ".exe"}
_WITH_VALUE = frozenset({"-d", "--distribution", "--distribution-id", "-u", "--user", "--cd", "--shell-type"})
_SHELLS = frozenset({"bash", "dash", "fish", "sh", "zsh"})


class WindowsUser(NamedTuple):
    folder: Path
    drives: Path  # the folder in which the drives of Windows are: /mnt


def find_windows_user(environ: Mapping[str, str], name: str = "") -> WindowsUser | None:
    """Return the person's user of Windows, None if there is none, as outside WSL; raises ConfigError.

    Without a name, only where the shell says that it is in WSL: not for root by sudo, nor in a service.
    """
    if not environ.get(DISTRIBUTION_VARIABLE) and not (name and "microsoft" in os.uname().release.lower()):
        if name:
            raise ConfigError("--windows-user is for a distribution of WSL, and this is none", fix="omit it")
        return None
    users = Path(_output("wslpath", "-u", "C:\\").strip() or _USUAL_DRIVE) / "Users"
    drives = users.parent.parent
    found = sorted(_folders_of_users(users))
    names = ", ".join(folder.name for folder in found)
    if name:
        found = [folder for folder in found if folder.name == name]
        if not found:
            raise ConfigError(f"Windows has no user {name!r} in {users}", fix=f"its users: {names or 'none'}")
    elif (signed_in := _signed_in(users.parent)) is not None:
        found = [signed_in]
    if len(found) > 1:
        raise ConfigError(f"several users of Windows have a folder in {users}: {names}", fix="add --windows-user NAME")
    return WindowsUser(found[0], drives) if found else None


def _folders_of_users(users: Path) -> list[Path]:
    """Return the folders of people; those of Windows itself have no programs' data that we may write."""
    folders = users.iterdir() if users.is_dir() else ()
    people = [each for each in folders if each.name.lower() not in ("public", "default") and not each.is_symlink()]
    return [each for each in people if os.access(each / "AppData" / "Roaming", os.W_OK | os.X_OK)]


def _signed_in(drive: Path) -> Path | None:
    """Return the folder of the user as whom programs of Windows are started from here, if they can be started."""
    command = drive / "Windows" / "System32" / "cmd.exe"
    # With /u it writes UTF-16, so that every name arrives whole.
    said = _output(str(command), "/d", "/u", "/c", "echo %USERPROFILE%", folder=drive, encoding="utf-16-le")
    folder = Path(local_path(said.strip(), drive.parent))
    return folder if folder.is_absolute() and folder.is_dir() else None


def _output(*command: str, folder: Path | None = None, encoding: str = "utf-8") -> str:
    """Return what a program writes; nothing if it cannot be started, fails or takes too long."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_PATIENCE
        )
        return done.stdout.decode(encoding, "replace")
    return ""


def local_path(text: str, drives: Path) -> str:
    """Return a path of Windows as a distribution has it; any other text stays as it is."""
    if (match := _DRIVE_PATH.fullmatch(text)) is None:
        return text
    return str(drives / match[1].lower() / match[2].replace("\\", "/"))


def from_windows(words: Sequence[str], environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the command by which a program of Windows starts a command in this distribution; raises ConfigError."""
    name = environ.get(DISTRIBUTION_VARIABLE) or _output("wslpath", "-w", "/").strip().strip("\\").rpartition("\\")[2]
    if not name:
        fix = f"export {DISTRIBUTION_VARIABLE}=NAME  # as `wsl.exe --list` shows it"
        raise ConfigError("the name of this distribution of WSL is not known", fix=fix)
    user = []
    with suppress(KeyError):
        user = ["--user", pwd.getpwuid(os.getuid()).pw_name]
    # A login shell, because of its PATH; with --exec, no other shell reads the line before it.
    line = f"exec {shlex.join(words)}"
    return "wsl.exe", ["--distribution", name, *user, "--cd", "~", "--exec", "bash", "-lc", line]


def command_inside(command: str, arguments: Sequence[Json]) -> tuple[str, list[Json]]:
    """Return the command that `wsl.exe` starts in a distribution; any other command is returned as it is."""
    words = [word for word in arguments if isinstance(word, str)]
    if ntpath.basename(command.strip()).lower().removesuffix(".exe") != "wsl" or len(words) < len(arguments):
        return command, [*arguments]
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("--", "-e", "--exec"):
            break
        del words[: option in _WITH_VALUE]
    if len(words) > 2 and ntpath.basename(words[0]) in _SHELLS and re.fullmatch(r"-[il]*c", words[1]):
        with suppress(ValueError):  # a line that ends inside quotes
            words = shlex.split(words[2])
    words = words[1:] if words[:1] == ["exec"] else words
    return (words[0], [*words[1:]]) if words else (command, [*arguments])


def for_distribution(entry: JsonObject, command: str, arguments: Sequence[Json], drives: Path) -> JsonObject:
    """Return a server's entry of a client on Windows so that it can be started in a distribution.

    A program of Windows is started there as before, and gets its variables. Any other one, such as `npx`, is started in
    the distribution, with paths as it has them.
    """
    words = [command, *map(str, arguments)]
    if ntpath.basename(command).lower() in ("cmd", "cmd.exe") and len(words) > 2 and words[1].lower() == "/c":
        words = words[2:]
    kind = ntpath.splitext(words[0])[1].lower()
    env: JsonObject = {**mapping_of(entry.get("env"))}
    if kind in _PROGRAMS:
        words = ["cmd.exe", "/c", *words] if kind in _BATCH else [local_path(words[0], drives), *words[1:]]
        env = {**env, "WSLENV": ":".join(env)} if env else env
    else:
        words = [local_path(word, drives) for word in words]
        env = {name: local_path(value, drives) if isinstance(value, str) else value for name, value in env.items()}
    cwd = entry.get("cwd")
    changed: JsonObject = {**entry, "command": words[0], "args": [*words[1:]], "env": env}
    return {**changed, "cwd": local_path(cwd, drives)} if isinstance(cwd, str) else changed
