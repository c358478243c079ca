"""The programs that a person allows, and how they are found.

A name is looked up in folders of PATH that no tool may write to, so it means what the person means by it. OneTool
itself is refused, since with it a program could agree in the person's place. That holds for its name, for links to it
and for programs that only start others; not for a script that puts the name together, nor for a copy of it.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from ot.errors import ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.marked_files import named_files

_KEY = "packs.shell.allow"
_OWN_NAME = "onetool"
_MOST = 10_000  # characters of a command: a person is shown all of them
_STARTERS = frozenset({
    "ash", "bash", "bunx", "busybox", "bwrap", "chroot", "chrt", "command", "csh", "dash", "doas", "env", "exec",
    "find", "fish", "flock", "hatch", "ionice", "ksh", "make", "nice", "node", "nohup", "npx", "nsenter", "parallel",
    "pdm", "perl", "pip", "pipx", "poetry", "prlimit", "ruby", "rye", "script", "setpriv", "setsid", "sh", "ssh",
    "stdbuf", "strace", "su", "sudo", "systemd-run", "tclsh", "time", "timeout", "tmux", "unshare", "uv", "uvx",
    "watch", "xargs", "zsh",
})  # fmt: skip
"""Programs that start others, or run code that does, named in their arguments."""
_INSTRUCTIONS = (
    "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "package.json", "pyproject.toml",
    "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py", "Cargo.toml", "build.rs", "CMakeLists.txt",
    "Rakefile", "Gemfile", "build.gradle", "pom.xml", "Dockerfile", "compose.yaml", "docker-compose.yml",
)  # fmt: skip
"""Files whose content programs do, though no argument names them."""
_MENTION = re.compile(rf"(?<![\w.-]){_OWN_NAME}(?![\w/-])", re.IGNORECASE)


def find_program(allow: object, files: AllowedFiles, argv: Sequence[str], cwd: Path) -> Path:
    """Return the program of a command; raises ToolError where the rules do not allow it, or it is not there."""
    rules = read_rules(allow)
    if not argv or not argv[0]:
        raise ToolError('argv must be a list of strings, for example ["make", "test"]; the first one is the program')
    if any("\0" in word for word in argv):
        raise ToolError("argv contains a null character")
    if sum(map(len, argv)) > _MOST:
        raise ToolError(f"argv has more than {_MOST:,} characters; write long texts to a file, and name the file")
    if not any(_fits(rule, argv, cwd, files.project) for rule in rules):
        allowed = ", ".join(map(shlex.join, rules[:20])) or "none"
        raise ToolError(
            f"{argv[0]!r} is not among the programs that may be run ({allowed}): "
            f"a person can add it to {_KEY} in their onetool.yaml"
        )
    program = _look_up(argv[0], cwd, files)
    _refuse_onetool(argv, program, cwd)
    return program


def find_scripts(program: Path, argv: Sequence[str], cwd: Path) -> list[Path]:
    """Return the files that decide what a command does: what a person agrees to is these as they are."""
    return [program, *named_files({"argv": [*argv[1:], *_INSTRUCTIONS]}, cwd)]


def _fits(rule: Sequence[str], argv: Sequence[str], cwd: Path, project: Path) -> bool:
    """True for a command that begins with the words of a rule; in a word, `*` stands for anything."""
    name, *words = rule
    paths = "/" in name and "/" in argv[0]
    same = _absolute(argv[0], cwd) == _absolute(name, project) if paths else argv[0] == name
    given = argv[1 : len(rule)]
    return same and len(given) == len(words) and all(map(fnmatch.fnmatchcase, given, words))


def _look_up(name: str, cwd: Path, files: AllowedFiles) -> Path:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # Those that tools may write to are left out.
    own = [each for each in folders if each.startswith("/") and not files.contains(Path(os.path.realpath(each)))]
    found = shutil.which(_absolute(name, cwd) if "/" in name else name, path=os.pathsep.join(own))
    if found is None:
        raise ToolError(f"there is no program {name!r} on the server's PATH, outside of the folders that tools use")
    return Path(found)


def _refuse_onetool(argv: Sequence[str], program: Path, cwd: Path) -> None:
    words = [str(program), os.path.realpath(program)]
    names = [Path(word).name for word in words]
    if any(name in _STARTERS or re.fullmatch(r"(python|pypy)[\d.]*", name) for name in names):
        words += [part for word in argv[1:] for part in (word, *_programs_in(word, cwd))]
    if any(_MENTION.search(word) for word in words[2:]) or any(Path(word).name == _OWN_NAME for word in words):
        raise ToolError("tools cannot run OneTool itself: only a person can type its commands")


def read_rules(options: object) -> tuple[tuple[str, ...], ...]:
    """Return the rules of the configuration; raises ToolError for what makes no sense."""
    rules = [] if options is None else options
    example = 'for example [make, "git status", "npm run *"]'
    if not isinstance(rules, list | tuple):
        raise ToolError(f"{_KEY} must be a list of commands, {example}")
    for place, rule in enumerate(rules, 1):
        if isinstance(rule, bool | int | float):  # YAML reads a bare `yes`, `on` or `7` as something else than text
            raise ToolError(f'{_KEY}: entry {place} is read as {json.dumps(rule)}: write a command in quotes, as "yes"')
        if not isinstance(rule, str) or not rule.strip():
            raise ToolError(f"{_KEY}: entry {place} is not a command; it must be a list of commands, {example}")
    try:
        return tuple(tuple(shlex.split(rule)) for rule in rules)
    except ValueError as error:
        raise ToolError(f"{_KEY} has a command with an unclosed quote: {error}") from error


def _programs_in(word: str, cwd: Path) -> list[str]:
    """Return the names of what a word may stand for, without links."""
    if len(word) > 1000:
        return []
    found = shutil.which(word) if "/" not in word else None
    return [os.path.realpath(found or cwd / word)]


def _absolute(path: str, folder: Path) -> str:
    return os.path.normpath(folder / Path(path).expanduser())
