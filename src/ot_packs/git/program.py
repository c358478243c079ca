"""Git, run in one repository: hardened, confined to it, and ended with the call."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.lowlevel

from ot.context import bounded
from ot.errors import ToolError
from ot.processes.run_program import Finished, Take, run_program
from ot.processes.standby import Standby
from ot_confinement.confine import Confine
from ot_confinement.own_files import executables_of, files_of_command
from ot_packs.git.repository import Repository
from ot_packs.program_output import said

SETTINGS = {
    **dict.fromkeys(("core.hooksPath", "core.attributesFile", "core.excludesFile"), "/dev/null"),
    **dict.fromkeys(("core.fsmonitor", "core.askPass", "core.alternateRefsCommand", "credential.helper"), ""),
    **dict.fromkeys(("diff.external", "mailmap.file", "mailmap.blob", "blame.ignoreRevsFile"), ""),
    **dict.fromkeys(("core.sshCommand", "core.untrackedCache", "core.quotePath", "color.ui"), "false"),
    **dict.fromkeys(("diff.noprefix", "diff.mnemonicPrefix", "log.showSignature", "log.mailmap"), "false"),
    **dict.fromkeys(("gpg.program", "gpg.ssh.program", "gpg.x509.program", "maintenance.auto"), "false"),
    **dict.fromkeys(("commit.gpgSign", "submodule.recurse", "status.submoduleSummary"), "false"),
    "core.pager": "cat",
    "core.editor": ":",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "diff.submodule": "short",
    "gc.auto": "0",
}
"""Settings that stand above those of a repository; an empty one means none."""

DIFF_OPTIONS = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty", "-O/dev/null",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
"""Options of every command that compares files."""

_ENVIRONMENT = {
    **dict.fromkeys(("GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "GIT_NO_LAZY_FETCH"), "1"),
    **dict.fromkeys(("GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"), "/dev/null"),
    **dict.fromkeys(("GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"), "0"),
    **dict.fromkeys(("GIT_ASKPASS", "GIT_SSH_COMMAND"), "false"),
    **dict.fromkeys(("GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), ":"),
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
}
_DRIVER = re.compile(r"filter\.(.*)\.(?:clean|smudge|process|required)", re.DOTALL)
CANARY = "onetool.canary"
"""A setting given in a variable: if git lists it, then git takes settings from variables."""
_IDENTITY = re.compile(r"(?:user|author|committer)\.(?:name|email)")
_PATIENCE = 10.0  # seconds for a change that nobody waits for any more: killed, git would leave its locks behind
_MEMORY = 2 * 1024**3  # bytes: a repository can be small and unpack to anything


def harden_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every git: of the server's own only what no repository can mean anything by."""
    return {name: environ[name] for name in ("PATH", "TZ", "TMPDIR") if name in environ} | _ENVIRONMENT


def setting_words(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def setting_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, for names that may hold any character."""
    numbered = enumerate(settings.items())
    pairs = [{f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": value} for n, (name, value) in numbered]
    return {"GIT_CONFIG_COUNT": str(len(pairs))} | {name: value for pair in pairs for name, value in pair.items()}


def without_drivers(listed: Iterable[str]) -> dict[str, str]:
    """Return settings that switch off the content filters that the listed settings name; raises ToolError."""
    # A filter that is not run changes what is stored: whoever writes has to look for files that want one.
    listed = set(listed)
    if CANARY not in listed:
        raise ToolError("the installed git is too old for this pack: it needs version 2.31 or newer")
    names = {match[1] for name in listed if (match := _DRIVER.fullmatch(name))}
    off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"filter.{name}.{key}": value for name in sorted(names) for key, value in off.items()}


@dataclass(frozen=True, slots=True)
class Git:
    """One repository, with the settings that hold for it beyond those of every git, and the names of its own."""

    repository: Repository
    settings: Mapping[str, str]
    listed: frozenset[str] = frozenset()
    standby: Standby | None = None  # with which git is started sooner

    async def read(self, *words: str, stdin: bytes = b"", on_output: Take | None = None) -> bytes:
        """Run a command that changes nothing, and return its output; raises ToolError if it fails."""
        return _output_of(await self._run(words, stdin=stdin, on_output=on_output))

    async def change(self, *words: str, stdin: bytes = b"") -> bytes:
        """Run a command that changes the repository; a cancellation gives it time to end. Raises ToolError."""
        patience = anyio.CancelScope(shield=True)
        finished = list[Finished]()

        async def hear_of_cancellation() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                patience.deadline = anyio.current_time() + _PATIENCE

        async with anyio.create_task_group() as watching:
            watching.start_soon(hear_of_cancellation)
            with patience:
                finished.append(await self._run(words, stdin=stdin, writable=self.repository.places))
            watching.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()  # here it is, if there was one
        return _output_of(finished[0])

    async def _run(
        self, words: Sequence[str], *, stdin: bytes, on_output: Take | None = None, writable: Sequence[str] = ()
    ) -> Finished:
        program = find_git()
        return await run_program(
            [str(program), "--no-pager", *setting_words(SETTINGS), *words],
            stdin=stdin,
            environ=environment_of(program, self.repository) | setting_variables(self.settings),
            cwd=self.repository.top,
            on_output=on_output,
            confine=bounded(confine_git(program, self.repository, writable)),
            standby=self.standby,
        )


async def open_git(repository: Repository, *, files: bool, standby: Standby | None = None) -> Git:
    """Return git for a repository; with `files` for commands that read or write files of the working tree."""
    # Those may be stored through content filters, which any file can ask for by name: the names have to be known.
    if not files:
        return Git(repository, {}, standby=standby)
    asking = Git(repository, {CANARY: "there"}, standby=standby)
    output = await asking.read("config", "--list", "--name-only", "--includes", "-z")
    listed = frozenset(os.fsdecode(output).split("\0"))
    return Git(repository, without_drivers(listed), listed, standby)


async def add_identity(git: Git) -> Git:
    """Return git with the name of the person for a new commit; raises ToolError where git does not know it."""
    # The repository's own settings come first. Those of the person are the only thing taken from outside of the roots,
    # and git is asked for them in such a way that it does not go by what the repository says.
    program = find_git()
    plain = {name: value for name, value in harden_environment(os.environ).items() if name != "GIT_CONFIG_GLOBAL"}
    named = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL") if name in os.environ}
    found = await run_program(
        [str(program), "--no-pager", "config", "--global", "--includes", "--list", "-z"],
        environ=plain | named | _places(git.repository),
        cwd=git.repository.top,
        standby=git.standby,
    )
    pairs = (entry.partition("\n") for entry in os.fsdecode(found.output).split("\0"))
    personal = {name: value for name, _, value in pairs if _IDENTITY.fullmatch(name) and name not in git.listed}
    known = {*git.listed, *personal}
    if not all(known & {f"user.{word}", f"author.{word}"} for word in ("name", "email")):
        way_out = "a person can set `git config --global user.name` and `user.email`"
        raise ToolError(f"git has no author for the commit: {way_out}")
    return replace(git, settings={**git.settings, **personal})


def find_git() -> Path:
    """Return the program; raises ToolError where there is none."""
    found = shutil.which("git", path=os.environ.get("PATH"))
    if found is None:
        raise ToolError("git is not on the server's PATH: install it, and restart the server")
    return Path(os.path.realpath(found))


def environment_of(program: Path, repository: Repository) -> dict[str, str]:
    """Return the environment of git in a repository. What git starts of itself is the same file again."""
    return harden_environment(os.environ) | _places(repository) | {"GIT_EXEC_PATH": str(program.parent)}


def confine_git(program: Path, repository: Repository, writable: Sequence[str] = ()) -> Confine:
    """Return its bounds: the repository, git's own files, and no other program."""
    own = files_of_command(str(program), (), path="", folder=repository.top)
    return Confine((*own, *repository.places), tuple(writable), memory=_MEMORY, programs=executables_of(program))


def _places(repository: Repository) -> dict[str, str]:
    """Name the working tree too: the repository's own `core.worktree` could be anywhere."""
    return {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}


def _output_of(finished: Finished) -> bytes:
    if finished.status == 0 or (finished.stopped and not finished.explanation):
        return finished.output
    if finished.explanation:
        raise ToolError(f"git {finished.explanation}")
    raise ToolError(f"git says: {said(finished.tail)}" if finished.tail else f"git ended with status {finished.status}")
