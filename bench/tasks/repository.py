"""Tasks on a git repository: which files change most, which fixed issues are still open, and one look at the state."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

from bench.tasks.issues import OWNER, REPO, still_open
from bench.tasks.task import HOME, DirectCalls, Runs, Task
from tests.availability import require_program

_FILES = tuple(f"src/{name}.py" for name in ("cart", "client", "config", "errors", "mail", "prices", "routes", "tax"))
_SUBJECTS = (
    "Round prices once",
    "Say which field is wrong",
    "Retry lost mails",
    "Keep carts for a month",
    "Read VAT rates",
)
_COMMITS = 40
_LATEST = 20


def _plan_commits() -> list[tuple[str, dict[str, int]]]:
    """For each commit its message, and the files that it changes with the number of a function in each."""
    chance = random.Random(3)
    fixes = iter((4, 9, 13, 17, 22, 26, 31, 38))
    commits = []
    for number in range(1, _COMMITS):
        files = chance.sample(_FILES, chance.choices((1, 2, 3), weights=(5, 3, 2))[0])
        subject = f"{chance.choice(_SUBJECTS)} ({number})"
        if number % 5 == 2:
            subject += f"\n\nFixes #{next(fixes)}"
        commits.append((subject, {file: chance.randrange(12) for file in files}))
    return commits


_PLAN = _plan_commits()


def prepare(folder: Path) -> None:
    repository = folder / "repository"
    (repository / "src").mkdir(parents=True)
    _git(repository, "init", "--quiet", at=0)
    for file in _FILES:
        (repository / file).write_text("".join(_function(part, 0) for part in range(12)))
    _commit(repository, "Begin the shop", at=0)
    for number, (message, changes) in enumerate(_PLAN, 1):
        for file, part in changes.items():
            path = repository / file
            parts = re.split(r"(?=def )", path.read_text())[1:]
            parts[part] = _function(part, number)
            path.write_text("".join(parts))
        _commit(repository, message, at=number)
    (repository / "src" / "tax.py").write_text("# to be written again\n")


def _function(part: int, version: int) -> str:
    return (
        f"def step_{part}(order: Order) -> Order:\n"
        f'    """Version {version}: carry out step {part}."""\n'
        f"    order.check(limit={10 * part + version})\n"
        f"    return order.after({part}, {version})\n\n\n"
    )


def _commit(repository: Path, message: str, *, at: int) -> None:
    _git(repository, "add", ".", at=at)
    _git(repository, "commit", "--quiet", "--message", message, at=at)


def _git(repository: Path, *arguments: str, at: int) -> None:
    """Without the settings of whoever measures, and at a time that makes the same commits every time."""
    moment = f"{1_790_000_000 + 7200 * at} +0000"
    variables = {
        "PATH": os.environ.get("PATH", ""),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": moment,
        "GIT_COMMITTER_DATE": moment,
    }
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
    command = [str(require_program("git")), *identity, *arguments]
    subprocess.run(command, cwd=repository, env=variables, check=True, timeout=30)


_REPOSITORY = f"{HOME}/repository"
_HASH = r"Commit: '?([0-9a-f]{40})"


def _show_counts(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{file} {count}" for file, count in ranked[:3])


async def _changes_directly(servers: DirectCalls) -> str:
    [log] = await servers.call(("git", "git_log", {"repo_path": _REPOSITORY, "max_count": _LATEST}))
    shown = await servers.call(
        *(("git", "git_show", {"repo_path": _REPOSITORY, "revision": commit}) for commit in re.findall(_HASH, log))
    )
    return _show_counts(Counter(file for text in shown for file in re.findall(r"^\+\+\+ b?/?(\S+)", text, re.M)))


async def _changes_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="git log and the files that a commit changed")')
    await onetool.fail(f'[commit["hash"] for commit in git.git_log(repo_path="{_REPOSITORY}", max_count=20)]')
    await onetool.run(f"""log = git.git_log(repo_path="{_REPOSITORY}", max_count=2)
print(log)
git.git_show(repo_path="{_REPOSITORY}", revision="HEAD")""")
    return await onetool.run(
        rf"""import re
from collections import Counter
log = git.git_log(repo_path="{_REPOSITORY}", max_count=20)
found = Counter()
for commit in re.findall(r"{_HASH}", log):
    found.update(re.findall(r"(?m)^\+\+\+ b?/?(\S+)", git.git_show(repo_path="{_REPOSITORY}", revision=commit)))
ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
", ".join(f"{{file}} {{count}}" for file, count in ranked[:3])"""
    )


async def _state_directly(servers: DirectCalls) -> str:
    [text] = await servers.call(("git", "git_status", {"repo_path": _REPOSITORY}))
    return _show_state(text)


def _show_state(text: str) -> str:
    [branch], files = re.findall(r"On branch (\S+)", text), re.findall(r"modified: +(\S+)", text)
    return f"{branch}: {', '.join(files)} modified"


async def _state_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="git status of a repository")')
    await onetool.fail("git.git_status()")
    return _show_state(await onetool.run(f'git.git_status(repo_path="{_REPOSITORY}")'))


def _fixed(text: str) -> list[int]:
    return sorted(map(int, re.findall(r"Fixes #(\d+)", text)))


async def _fixed_directly(servers: DirectCalls) -> str:
    [log] = await servers.call(("git", "git_log", {"repo_path": _REPOSITORY, "max_count": 100}))
    issue = {"owner": OWNER, "repo": REPO}
    texts = await servers.call(*(("github", "get_issue", {**issue, "issue_number": number}) for number in _fixed(log)))
    return ", ".join(f"#{number}" for number, text in zip(_fixed(log), texts, strict=True) if '"state": "open"' in text)


async def _fixed_through_run(onetool: Runs) -> str:
    await onetool.run('ot.help(query="git log, and get an issue on GitHub")')
    await onetool.fail(f'[commit["message"] for commit in git.git_log(repo_path="{_REPOSITORY}", max_count=100)]')
    return await onetool.run(
        rf"""import json, re
log = git.git_log(repo_path="{_REPOSITORY}", max_count=100)
numbers = sorted(map(int, re.findall(r"Fixes #(\d+)", log)))
issues = [json.loads(github.get_issue(owner="{OWNER}", repo="{REPO}", issue_number=number)) for number in numbers]
", ".join(f"#{{issue['number']}}" for issue in issues if issue["state"] == "open")"""
    )


TASKS = (
    Task(
        name="git: files that change most",
        question=f"Which three files did most of the latest 20 commits of {_REPOSITORY} change, and how many each?",
        servers=("git",),
        expected=_show_counts(Counter(file for _, changes in _PLAN[-_LATEST:] for file in changes)),
        direct=_changes_directly,
        through_run=_changes_through_run,
    ),
    Task(
        name="git: branch and changes",
        question=f"On which branch is {_REPOSITORY}, and what is modified?",
        servers=("git",),
        expected="main: src/tax.py modified",
        direct=_state_directly,
        through_run=_state_through_run,
    ),
    Task(
        name="git and issues: fixed, but still open",
        question=f"Which issues of {OWNER}/{REPO} that commits in {_REPOSITORY} fix are still open?",
        servers=("git", "github"),
        expected=still_open(_fixed("\n".join(message for message, _ in _PLAN))),
        direct=_fixed_directly,
        through_run=_fixed_through_run,
    ),
)
