"""Changes of a repository: looked at first, put to the person in words, and made only then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ot.context import current
from ot.errors import ToolError
from ot.values import Arguments
from ot_packs.git.outputs import StatusEntry, read_state
from ot_packs.git.program import DIFF_OPTIONS, Git, add_identity
from ot_packs.git.undoing import BRANCHES, HEAD, INDEX, STASH, noted, read_aspect
from ot_packs.git.words import LONGEST, is_closed, pathspecs, require_plain, split_names

COMMIT_OPTIONS = ("--file=-", "--cleanup=whitespace", "--no-verify", "--no-gpg-sign", "--no-status", "--quiet")
SWITCH_OPTIONS = ("--no-guess", "--no-recurse-submodules", "--no-progress", "--quiet")

_ALL = 1_000_000  # entries: what is changed is looked at whole
_MOST_COMPARED = 1000  # files that are to be staged


async def stage(git: Git, names: Sequence[str]) -> None:
    """Stage files and folders, if the person agrees."""
    wanted = pathspecs(*names)
    state = await read_state(git, wanted, limit=_ALL, untracked="all")
    found = [entry for entry in state.entries if entry.unstaged]
    await require_plain(git, [*(entry.name for entry in found), *filter(is_closed, names)], verb="stage")
    if found:
        top = Path(git.repository.top)
        shown = {"files": [f"{entry.unstaged}: {entry.name}" for entry in found]}
        await _ask(git, "Stage these files?", shown, files=[top / entry.name for entry in found[:_MOST_COMPARED]])
        async with noted(git, INDEX):
            await git.change("add", "--all", "--", *wanted)


async def commit_staged(git: Git, message: str) -> None:
    """Commit what is staged, if the person agrees to just that."""
    if not message.strip() or "\0" in message or len(message) > LONGEST:
        raise ToolError(f"message= must be the text of the commit, up to {LONGEST:,} characters")
    git = await add_identity(git)
    staged = await _staged(git)
    if not staged:
        raise ToolError("nothing is staged: stage files with git.add(paths=[...]) first")
    shown = {"files": [f"{entry.staged}: {entry.name}" for entry in staged], "message": message}
    await _ask(git, "Commit these files?", shown)
    if await _staged(git) != staged:
        raise ToolError("nothing was committed: the staged changes were modified while the person was asked")
    head = str(await read_aspect(git, HEAD))
    async with noted(git, head if head.startswith(BRANCHES) else "HEAD", commits=True):
        await git.change("commit", *COMMIT_OPTIONS, stdin=message.encode(errors="replace"))


async def switch_to(git: Git, branch: str, *, create: bool) -> None:
    """Check out a branch, if the person agrees."""
    if create:
        await _ask(git, "Create this branch, and check it out?", {"branch": branch})
        async with noted(git, f"{BRANCHES}{branch}", HEAD):
            await git.change("switch", *SWITCH_OPTIONS, "--no-track", "--create", branch)
        return
    reference = f"refs/heads/{branch}"
    heads = await _commits(git, "HEAD", reference)
    changed = await _changed_between(git, *heads)
    await require_plain(git, changed, verb="check out")
    await _ask(git, "Check out this branch, which changes these files?", {"branch": branch, "files": changed})
    if await _commits(git, "HEAD", reference) != heads:
        raise ToolError("nothing was changed: a branch was modified while the person was asked")
    async with noted(git, HEAD, INDEX, files=changed):
        await git.change("switch", *SWITCH_OPTIONS, branch)


async def use_stash(git: Git, action: str, *, message: str, number: int) -> None:
    """Put changes aside, bring them back or forget them, if the person agrees."""
    if number < 0:
        raise ToolError("number= must be 0 (the latest stash) or more")
    entry = f"stash@{{{number}}}"
    if action == "push":
        state = await read_state(git, [], limit=_ALL, untracked="no")
        changed = [entry.name for entry in state.entries]
        touched = [name for entry in state.entries for name in (entry.name, entry.was) if name]
        words = ["push", "--quiet", f"--message={message}"] if message else ["push", "--quiet"]
        stashed: list[str] = []
    else:
        stashed = await _commits(git, entry)
        changed = touched = await _changed_between(git, f"{entry}^1", entry)
        words = [action, "--quiet", entry]
    if action != "drop":
        await require_plain(git, changed, verb="stash" if action == "push" else "unstash", merges=action != "push")
    shown = {"action": f"git stash {action}", **({"message": message} if message else {}), "files": changed}
    await _ask(git, "Do this for these files?", shown)
    if action != "push" and await _commits(git, entry) != stashed:
        raise ToolError("nothing was changed: the stashes were modified while the person was asked")
    async with noted(git, INDEX, STASH, files=touched if action != "drop" else ()):
        await git.change("stash", *words)


async def _staged(git: Git) -> list[StatusEntry]:
    state = await read_state(git, [], limit=_ALL, untracked="no")
    return [entry for entry in state.entries if entry.staged]


async def _changed_between(git: Git, base: str, head: str) -> list[str]:
    words = ("--name-only", "-z", "--no-renames", "--end-of-options", base, head, "--")
    return split_names(await git.read("diff", *DIFF_OPTIONS, *words))


async def _commits(git: Git, *names: str) -> list[str]:
    words = ("--max-count=1", "--end-of-options")
    return [(await git.read("rev-list", *words, name, "--")).decode().strip() for name in names]


async def _ask(git: Git, question: str, shown: Arguments, *, files: Iterable[Path] = ()) -> None:
    """Ask the person for a change; raises ToolError if the answer is no."""
    asked = {**shown, "repository": str(git.repository.top)}
    if not await current().ask(f"{question} Hooks and content filters are not run.", asked, files=files):
        raise ToolError("nothing was changed: the person said no")
