"""Changes of a repository: looked at first, put to the person in words, and made only then."""

from __future__ import annotations

from collections.abc import Sequence

from ot.context import current
from ot.errors import ToolError
from ot.execution.consent import visible
from ot_packs.git.outputs import StatusEntry, read_state
from ot_packs.git.program import DIFF_OPTIONS, Git, add_identity
from ot_packs.git.words import LONGEST, is_closed, pathspecs, require_plain, split_names

COMMIT_OPTIONS = ("--file=-", "--cleanup=whitespace", "--no-verify", "--no-gpg-sign", "--no-status", "--quiet")
SWITCH_OPTIONS = ("--no-guess", "--no-recurse-submodules", "--no-progress", "--quiet")

_ALL = 1_000_000  # entries: what is changed is looked at whole
_MOST_SHOWN = 40  # files in a question


async def stage(git: Git, names: Sequence[str]) -> None:
    """Stage files and folders, if the person agrees."""
    wanted = pathspecs(*names)
    state = await read_state(git, wanted, limit=_ALL, untracked="all")
    found = [entry for entry in state.entries if entry.unstaged]
    await require_plain(git, [*(entry.name for entry in found), *filter(is_closed, names)], verb="stage")
    if found:
        await _ask(git, "Stage", [f"{entry.unstaged}: {visible(entry.name)}" for entry in found])
        await git.change("add", "--all", "--", *wanted)


async def commit_staged(git: Git, message: str) -> None:
    """Commit what is staged, if the person agrees to just that."""
    if not message.strip() or "\0" in message or len(message) > LONGEST:
        raise ToolError(f"message= must be the text of the commit, up to {LONGEST:,} characters")
    git = await add_identity(git)
    staged = await _staged(git)
    if not staged:
        raise ToolError("nothing is staged: stage files with git.add(paths=[...]) first")
    said = [f"  {visible(line)}" for line in message.splitlines()]
    await _ask(
        git, "Commit", [f"{entry.staged}: {visible(entry.name)}" for entry in staged], ["with the message", *said]
    )
    if await _staged(git) != staged:
        raise ToolError("nothing was committed: the staged changes were modified while the person was asked")
    await git.change("commit", *COMMIT_OPTIONS, stdin=message.encode(errors="replace"))


async def switch_to(git: Git, branch: str, *, create: bool) -> None:
    """Check out a branch, if the person agrees."""
    if create:
        await _ask(git, f"Create the branch {visible(branch)}, and check it out", [])
        await git.change("switch", *SWITCH_OPTIONS, "--no-track", "--create", branch)
        return
    reference = f"refs/heads/{branch}"
    changed = await _changed_between(git, "HEAD", reference)
    await require_plain(git, changed, verb="check out")
    await _ask(git, f"Check out the branch {visible(branch)}, which changes", list(map(visible, changed)))
    await git.change("switch", *SWITCH_OPTIONS, branch)


async def use_stash(git: Git, action: str, *, message: str, number: int) -> None:
    """Put changes aside, bring them back or forget them, if the person agrees."""
    if number < 0:
        raise ToolError("number= must be 0 (the latest stash) or more")
    entry = f"stash@{{{number}}}"
    if action == "push":
        state = await read_state(git, [], limit=_ALL, untracked="no")
        changed = [entry.name for entry in state.entries]
        words = ["push", "--quiet", f"--message={message}"] if message else ["push", "--quiet"]
    else:
        changed = await _changed_between(git, f"{entry}^1", entry)
        words = [action, "--quiet", entry]
    if action != "drop":
        await require_plain(git, changed, verb="stash" if action == "push" else "unstash", merges=action != "push")
    await _ask(git, f"Do `git stash {action}` for", list(map(visible, changed)))
    await git.change("stash", *words)


async def _staged(git: Git) -> list[StatusEntry]:
    """Return what is staged, with marks of its content."""
    state = await read_state(git, [], limit=_ALL, untracked="no")
    return [entry for entry in state.entries if entry.staged]


async def _changed_between(git: Git, base: str, head: str) -> list[str]:
    words = ("--name-only", "-z", "--no-renames", "--end-of-options", base, head, "--")
    return split_names(await git.read("diff", *DIFF_OPTIONS, *words))


async def _ask(git: Git, question: str, items: Sequence[str], below: Sequence[str] = ()) -> None:
    """Ask the person for a change; raises ToolError if the answer is no."""
    shown = [f"  {item}" for item in items[:_MOST_SHOWN]]
    if len(items) > _MOST_SHOWN:
        shown.append(f"  and {len(items) - _MOST_SHOWN} more")
    place = f"in {visible(str(git.repository.top))}, without hooks and content filters?"
    if not await current().ask("\n".join([question, *shown, *below, place])):
        raise ToolError("nothing was changed: the person said no")
