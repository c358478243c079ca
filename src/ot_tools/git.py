"""Git repositories: status, history and blame; and, if the person agrees, small changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import anyio.to_thread

from ot.context import current
from ot.effects import idempotent, reads
from ot.errors import ToolError
from ot.files.allowed_files import allowed_files
from ot.processes.standby import Standby
from ot_packs.file.editing import split_lines
from ot_packs.git import outputs
from ot_packs.git.changes import commit_staged, stage, switch_to, use_stash
from ot_packs.git.program import DIFF_OPTIONS, Git, open_git
from ot_packs.git.repository import Subject, find_subject
from ot_packs.git.words import checked, commit_word, literal, moment, pathspecs, plain, require_open, revision_word

pack = "git"

_MOST = 1000  # files of one answer
_MOST_PATHS = 200
_MOST_PATCH = 1024 * 1024  # bytes
_LONGEST_LINE = 2000  # bytes of a line of a file
_MOST_READ = 64 * 1024 * 1024  # bytes of a file


class StatusEntry(TypedDict):
    path: str
    staged: str  # "added", "modified", "deleted", "renamed", ...; empty if not staged
    unstaged: str  # the same for the working tree, or "untracked", or "in conflict"
    was: str  # its earlier path, if it was renamed


class Status(TypedDict):
    branch: str  # empty if no branch is checked out
    commit: str  # empty before the first one
    upstream: str
    ahead: int
    behind: int
    stashes: int
    changes: list[StatusEntry]
    total: int
    more: bool


class Commit(TypedDict):
    commit: str
    parents: list[str]
    author: str
    email: str
    date: str
    subject: str
    body: str


class Log(TypedDict):
    commits: list[Commit]
    more: bool


class FileChange(TypedDict):
    path: str
    was: str  # its earlier path, if it was renamed
    change: str
    added: int | None  # lines; None for a binary file
    deleted: int | None


class Diff(TypedDict):
    files: list[FileChange]
    total: int
    patch: str
    more: bool  # the list or the patch is cut


class Shown(TypedDict):
    commit: Commit
    diff: Diff


class Lines(TypedDict):
    path: str
    commit: str
    lines: list[str]
    offset: int  # the number of the first of them
    total: int
    more: bool


class BlameLine(TypedDict):
    line: int
    text: str
    commit: str  # empty for a line that is not committed
    author: str
    email: str
    date: str
    subject: str


class Blame(TypedDict):
    lines: list[BlameLine]
    more: bool


class Branch(TypedDict):
    name: str
    current: bool
    remote: bool
    commit: str
    date: str
    author: str
    subject: str
    upstream: str
    track: str  # such as "ahead 1, behind 2"


class Branches(TypedDict):
    branches: list[Branch]
    total: int
    more: bool


class Tag(TypedDict):
    name: str
    commit: str
    date: str
    author: str  # who made the tag; of one without a message, the author of its commit
    subject: str


class Tags(TypedDict):
    tags: list[Tag]
    total: int
    more: bool


@reads
async def status(*, path: str = ".", limit: int | None = 200) -> Status:
    """Show what has changed in a working tree since the last commit, and its branch compared with its upstream.

    Submodules are not inspected.

    Args:
        path: A file or folder; the project's folder, or the top of a repository, means the whole repository.
        limit: Maximum number of changes to return; None for all.

    Returns:
        The branch, and the changed files, with paths that every other tool accepts.

    Example:
        git.status()["changes"]
    """
    limit = checked(limit)
    git, subject = await _open(path, files=True)
    return _status_of(await outputs.read_state(git, literal(subject.name), limit=limit), subject)


@reads
async def log(  # noqa: PLR0913 - the filters that git has
    *,
    path: str = ".",
    revision: str = "HEAD",
    query: str = "",
    change: str = "",
    author: str = "",
    since: str = "",
    until: str = "",
    follow: bool = False,
    limit: int | None = 50,
    offset: int = 0,
) -> Log:
    """List commits, newest first.

    Args:
        path: Only commits that changed this file or folder.
        revision: Where to start: a branch, a tag, a commit, or a range such as "main..topic".
        query: Only commits with this text in their message, ignoring case.
        change: Only commits that added or removed this text in a file; with `query` or `author`, ignoring case.
        author: Only commits whose author's name or email contains this text.
        since: Only commits from this day or time on, such as "2026-01-31", "2026-01", "yesterday" or "two weeks ago".
        until: Only commits up to this time, or to the end of this day, month or year.
        follow: Also list the commits of the file `path` from before it was renamed.
        limit: Maximum number of commits to return; None for all.
        offset: Number of commits to skip.

    Returns:
        The commits, and whether there are `more`.

    Example:
        [c["subject"] for c in git.log(limit=5)["commits"]]
    """
    limit = checked(limit)
    git, subject = await _open(path, files=False)
    times = {"--since": moment(since, "since"), "--until": moment(until, "until", end=True)}
    filters = {"--grep": query, "--author": author, **times}
    words = [f"{option}={plain(text, option[2:])}" for option, text in filters.items() if text]
    if query or author:
        words.append("--regexp-ignore-case")
    names = literal(subject.name)
    if change:  # the content of a closed file must not be found out by asking for words in it
        words += (*DIFF_OPTIONS, f"-S{plain(change, 'change')}")
        names = pathspecs(subject.name)
    if follow:
        if not subject.name:
            raise ToolError("follow= needs path=, the name of one file")
        require_open(subject.name)
        words.append("--follow")
        names = literal(subject.name)
    counted = (f"--max-count={limit + 1}", f"--skip={max(offset, 0)}")
    begin = ("--end-of-options", revision_word(revision), "--", *names)
    output = await git.read("log", *outputs.LOG_OPTIONS, "--fixed-strings", *counted, *words, *begin)
    commits = [_commit_of(fields) for fields in outputs.read_commits(output)]
    return {"commits": commits[:limit], "more": len(commits) > limit}


@reads
async def diff(
    *, path: str = ".", base: str = "", head: str = "", staged: bool = False, context: int = 3, limit: int | None = 2000
) -> Diff:
    """Compare the working tree with the index or a commit, or two commits with each other.

    Args:
        path: Only this file or folder.
        base: The commit to compare with; the index if empty.
        head: The commit to compare `base` with; the working tree if empty.
        staged: Compare the index, instead of the working tree, with `base` or the last commit.
        context: Number of unchanged lines around each change.
        limit: Maximum number of lines of the patch to return; None for all.

    Returns:
        Each file with its numbers of added and deleted lines, and the patch.

    Example:
        [(f["path"], f["added"], f["deleted"]) for f in git.diff(base="HEAD")["files"]]
    """
    limit = checked(limit)
    if head and (staged or not base):
        raise ToolError("head= needs base=, and cannot be combined with staged=")
    git, subject = await _open(path, files=not head)
    options = (f"--unified={checked(context)}", *(["--cached"] if staged else []))
    ends = [commit_word(end) for end in (base, head) if end]
    return await _compare(git, subject, limit, "diff", *options, "--end-of-options", *ends)


@reads
async def show(*, revision: str = "HEAD", path: str = ".", limit: int | None = 2000) -> Shown:
    """Show one commit: its message and its changes; for a merge, those compared with its first parent.

    Args:
        revision: A commit, branch or tag.
        path: Only changes to this file or folder.
        limit: Maximum number of lines of the patch to return; None for all.

    Returns:
        The commit, its files and its patch.

    Example:
        git.show(revision="HEAD")["commit"]["subject"]
    """
    limit = checked(limit)
    git, subject = await _open(path, files=False)
    words = ("--end-of-options", commit_word(revision))
    head = await git.read("log", "-1", *outputs.LOG_OPTIONS, *words, "--")
    options = ("--format=", "--diff-merges=first-parent", "--no-show-signature")
    diff = await _compare(git, subject, limit, "show", *options, *words)
    return {"commit": _commit_of(next(outputs.read_commits(head))), "diff": diff}


@reads
async def read(*, path: str, revision: str = "HEAD", offset: int = 1, limit: int | None = 2000) -> Lines:
    """Read lines of a text file as it was in a commit, even if it was deleted since.

    Args:
        path: The file, by its path in that commit.
        revision: A commit, branch or tag.
        offset: The first line to return, counted from 1.
        limit: Maximum number of lines to return; None for all.

    Returns:
        The lines without their line ends, the total number of lines, and whether there are more.

    Example:
        git.read(path="README.md", revision="HEAD")["lines"][:3]
    """
    limit = checked(limit)
    if offset < 1:
        raise ToolError("offset must be 1 or more: lines are counted from 1")
    git, subject = await _open(path, files=False)
    require_open(subject.name)
    commit = await _commit_id(git, revision)
    kept = bytearray()

    def take(data: bytes) -> bool:
        kept.extend(data)
        return len(kept) <= _MOST_READ

    await git.read("cat-file", "blob", f"{commit}:{subject.name}", on_output=take)
    if len(kept) > _MOST_READ or b"\0" in kept[:8192]:
        raise ToolError(f"{path} is not a text file of at most {_MOST_READ >> 20} MB in that commit")
    lines = split_lines(kept.decode(errors="replace"))
    shown = lines[offset - 1 : offset - 1 + limit]
    more = offset - 1 + len(shown) < len(lines)
    return {"path": path, "commit": commit, "lines": shown, "offset": offset, "total": len(lines), "more": more}


@reads
async def blame(
    *, path: str, revision: str = "", lines: list[int] | None = None, offset: int = 1, limit: int | None = 1000
) -> Blame:
    """Show who wrote each line of a file, and in which commit.

    Args:
        path: The file.
        revision: The commit to look at; the working tree if empty.
        lines: Only the lines with these numbers, instead of `offset` and `limit`.
        offset: The number of the first line.
        limit: Maximum number of lines to return; None for all.

    Returns:
        The lines; `commit` and `author` are empty for uncommitted ones.

    Example:
        [(b["line"], b["author"]) for b in git.blame(path="README.md", limit=3)["lines"]]
    """
    limit = checked(limit)
    git, subject = await _open(path, files=not revision)
    at = [await _commit_id(git, revision)] if revision else []  # this command takes no mark for the end of its options
    wanted = sorted(set(lines or ()))[: limit + 1]
    ranges = [f"-L{number},{number}" for number in wanted] or [f"-L{max(offset, 1)},+{limit + 1}"]
    words = ("blame", "--line-porcelain", "--no-textconv", *at, "--", subject.name)
    try:
        output = await git.read(*words[:3], *ranges, *words[3:])
    except ToolError:
        if wanted or (await git.read(*words)).count(b"\n\t") >= max(offset, 1):
            raise
        output = b""  # it has fewer lines
    found = [
        BlameLine(line=line, text=text, commit=commit, author=author, email=email, date=date, subject=summary)
        for line, text, commit, author, email, date, summary in outputs.read_blame(output, longest=_LONGEST_LINE)
    ]
    return {"lines": found[:limit], "more": len(found) > limit}


@reads
async def branches(*, path: str = ".", remote: bool = False, limit: int | None = 100) -> Branches:
    """List branches, most recent commits first.

    Args:
        path: A file or folder of the repository.
        remote: Include remote branches, as last fetched.
        limit: Maximum number of branches to return; None for all.

    Returns:
        The branches; `track` compares each with its upstream.

    Example:
        [b["name"] for b in git.branches()["branches"]]
    """
    limit = checked(limit)
    git, _ = await _open(path, files=False)
    kinds = ("refs/heads", "refs/remotes") if remote else ("refs/heads",)
    output = await git.read("for-each-ref", "--sort=-committerdate", f"--format={outputs.BRANCH_FORMAT}", *kinds)
    found = [_branch_of(fields) for fields in outputs.read_refs(output, outputs.BRANCH_FORMAT) if not fields[-1]]
    return {"branches": found[:limit], "total": len(found), "more": len(found) > limit}


@reads
async def tags(*, path: str = ".", limit: int | None = 100) -> Tags:
    """List tags, the newest first.

    Args:
        path: A file or folder of the repository.
        limit: Maximum number of tags to return; None for all.

    Returns:
        The tags, each with its commit, and the message of the tag or, without one, the subject of the commit.

    Example:
        [tag["name"] for tag in git.tags(limit=5)["tags"]]
    """
    limit = checked(limit)
    git, _ = await _open(path, files=False)
    output = await git.read("for-each-ref", "--sort=-creatordate", f"--format={outputs.TAG_FORMAT}", "refs/tags")
    found = [
        Tag(name=name.split("/", 2)[2], commit=peeled or commit, date=date, author=tagger or author, subject=text)
        for name, commit, peeled, date, tagger, author, text in outputs.read_refs(output, outputs.TAG_FORMAT)
    ]
    return {"tags": found[:limit], "total": len(found), "more": len(found) > limit}


@idempotent
async def add(*, paths: list[str]) -> Status:
    """Stage new, changed and deleted files for the next commit. The person is asked first.

    Args:
        paths: Files and folders of one repository.

    Returns:
        The status of these paths afterwards.

    Example:
        git.add(paths=["notes.txt"])
    """
    if not 0 < len(paths) <= _MOST_PATHS:
        raise ToolError(f"paths= must have 1 to {_MOST_PATHS} files or folders")
    git, first = await _open(paths[0], files=True)
    subjects = [first, *[await _find(path) for path in paths[1:]]]
    if len({subject.repository for subject in subjects}) > 1:
        raise ToolError("paths= has files of several repositories")
    names = [subject.name for subject in subjects]
    await stage(git, names)
    return _status_of(await outputs.read_state(git, literal(*names), limit=_MOST), first)


async def commit(*, message: str, path: str = ".") -> Commit:
    """Commit the staged changes. The person is asked first, and shown the message and the files.

    Hooks do not run, and the commit is not signed.

    Args:
        message: The message; its first line is the subject.
        path: A file or folder of the repository.

    Returns:
        The new commit.

    Example:
        git.commit(message="Add notes")
    """
    git, _ = await _open(path, files=True)
    await commit_staged(git, message)
    return _commit_of(next(outputs.read_commits(await git.read("log", "-1", *outputs.LOG_OPTIONS, "--"))))


async def switch(*, branch: str, create: bool = False, path: str = ".") -> Status:
    """Check out another branch. The person is asked first; conflicting local changes make it fail.

    Args:
        branch: The name of a branch.
        create: Create the branch first, at the current commit.
        path: A file or folder of the repository.

    Returns:
        The status afterwards.

    Example:
        git.switch(branch="topic", create=True)["branch"]
    """
    git, subject = await _open(path, files=True)
    await switch_to(git, plain(branch, "branch"), create=create)
    return _status_of(await outputs.read_state(git, [], limit=_MOST), subject)


async def stash(
    *, action: Literal["push", "pop", "apply", "drop"] = "push", message: str = "", number: int = 0, path: str = "."
) -> Status:
    """Stash changes of tracked files, or restore them. The person is asked first.

    Args:
        action: "push" stashes changes, "pop" restores and drops a stash, "apply" restores it, "drop" drops it.
        message: A description of the stash.
        number: The stash to restore or drop; 0 is the latest.
        path: A file or folder of the repository.

    Returns:
        The status afterwards.

    Example:
        git.stash(action="push", message="half done")["stashes"]
    """
    git, subject = await _open(path, files=True)
    await use_stash(git, action, message=plain(message, "message"), number=number)
    return _status_of(await outputs.read_state(git, [], limit=_MOST), subject)


async def _open(path: str, *, files: bool) -> tuple[Git, Subject]:
    subject = await _find(path)
    return await open_git(subject.repository, files=files, standby=current().part(Standby)), subject


async def _commit_id(git: Git, revision: str) -> str:
    return (await git.read("rev-parse", "--verify", "--end-of-options", commit_word(revision))).decode().strip()


async def _find(path: str) -> Subject:
    return await anyio.to_thread.run_sync(find_subject, allowed_files(), path)


def _path(subject: Subject, name: str) -> str:
    """Return a name from the top of a repository as a path that every tool takes."""
    return allowed_files().short(subject.repository.top / name) if name else ""


def _status_of(state: outputs.TreeState, subject: Subject) -> Status:
    heads = state.headers
    ahead, behind = heads.get("branch.ab", "+0 -0").split(" ")
    branch, commit = heads.get("branch.head", ""), heads.get("branch.oid", "")
    changes = [
        StatusEntry(path=_path(subject, it.name), staged=it.staged, unstaged=it.unstaged, was=_path(subject, it.was))
        for it in state.entries
    ]
    return {
        "branch": "" if branch == "(detached)" else branch,
        "commit": "" if commit == "(initial)" else commit,
        "upstream": heads.get("branch.upstream", ""),
        "ahead": abs(int(ahead)),
        "behind": abs(int(behind)),
        "stashes": int(heads.get("stash", 0)),
        "changes": changes,
        "total": state.total,
        "more": state.total > len(state.entries),
    }


def _commit_of(fields: Sequence[str]) -> Commit:
    commit, parents, author, email, date, message = fields
    subject, _, body = message.strip("\n").partition("\n")
    above, text = parents.split(), body.strip("\n")
    return Commit(commit=commit, parents=above, author=author, email=email, date=date, subject=subject, body=text)


async def _compare(git: Git, subject: Subject, limit: int, *words: str) -> Diff:
    below = ("--", *pathspecs(subject.name))
    files, patch, cut = await outputs.compare(git, *words, *below, lines=limit, most=_MOST_PATCH)
    shown: list[FileChange] = [
        {"path": _path(subject, name), "was": _path(subject, was), "change": change, "added": added, "deleted": deleted}
        for name, was, change, added, deleted in files[:_MOST]
    ]
    return {"files": shown, "total": len(files), "patch": patch, "more": cut or len(files) > _MOST}


def _branch_of(fields: Sequence[str]) -> Branch:
    name, commit, date, author, subject, mark, upstream, track, _ = fields
    _, kind, short = name.split("/", 2)
    return {
        "name": short,
        "current": mark == "*",
        "remote": kind == "remotes",
        "commit": commit,
        "date": date,
        "author": author,
        "subject": subject,
        "upstream": upstream,
        "track": track,
    }
