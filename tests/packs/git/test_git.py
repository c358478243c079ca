"""The pack git: what it tells of a repository, and what it changes if the person agrees."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest

from ot.app import App
from ot.clients.caller import NOBODY, Caller, Choice
from ot_packs.git.program import open_git
from ot_packs.git.repository import Repository
from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of
from tests.packs.git.hostile_repository import git, new_repository


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    """An engine whose project is a repository of two commits, which tests only read."""
    folder = tmp_path_factory.mktemp("engine") / "p"
    async with open_engine(folder) as app:
        git(folder, "init", "--quiet", "--initial-branch=main")
        (folder / ".gitignore").write_text("/.onetool\n/packs\n/dated\n")
        (folder / "src").mkdir()
        (folder / "src" / "a.py").write_text("one\ntwo\nthree\n")
        (folder / "gone.txt").write_text("x\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "Begin\n\nAt the beginning.")
        (folder / "src" / "a.py").write_text("one\nTWO\nthree\n")
        git(folder, "rm", "--quiet", "gone.txt")
        grace = {"GIT_AUTHOR_NAME": "Grace", "GIT_AUTHOR_EMAIL": "grace@example.org"}
        git(folder, "commit", "--quiet", "--all", "-m", "Shout", environ=grace)
        git(folder, "branch", "topic", "HEAD~1")
        (folder / "src" / "a.py").write_text("one\nTWO\nthree\nfour\n")
        (folder / "new.txt").write_text("new\n")
        yield app


async def test_status_tells_the_branch_and_each_change(app: App) -> None:
    status = await value_of(app, "git.status()")

    assert (status["branch"], status["total"], status["more"]) == ("main", 2, False)
    assert status["changes"] == [
        {"path": "src/a.py", "staged": "", "unstaged": "modified", "was": ""},
        {"path": "new.txt", "staged": "", "unstaged": "untracked", "was": ""},
    ]


async def test_status_is_cut_at_its_limit_and_says_how_many_there_are(app: App) -> None:
    status = await value_of(app, "git.status(limit=1)")

    assert (len(status["changes"]), status["total"], status["more"]) == (1, 2, True)


@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        ("", ["Shout", "Begin"]),
        ("limit=1", ["Shout"]),
        ("offset=1", ["Begin"]),
        ("author='grace'", ["Shout"]),
        ("query='AT THE'", ["Begin"]),
        ("query='a.*e'", []),
        ("path='gone.txt'", ["Shout", "Begin"]),
        ("revision='topic'", ["Begin"]),
        ("revision='topic..main'", ["Shout"]),
        ("until='1999-01-01'", []),
    ],
)
async def test_log_lists_commits(app: App, arguments: str, subjects: list[str]) -> None:
    log = await value_of(app, f"git.log({arguments})")

    assert [commit["subject"] for commit in log["commits"]] == subjects


async def test_a_commit_has_its_author_and_the_rest_of_its_message(app: App) -> None:
    commits = (await value_of(app, "git.log()"))["commits"]

    assert [(each["author"], each["body"]) for each in commits] == [("Grace", ""), ("Ada", "At the beginning.")]
    assert commits[0]["parents"] == [commits[1]["commit"]]


async def test_diff_compares_with_what_was_asked_for(app: App) -> None:
    unstaged = await value_of(app, "git.diff()")
    staged = await value_of(app, "git.diff(staged=True)")
    between = await value_of(app, "git.diff(base='topic', head='main')")

    assert unstaged["files"] == [{"path": "src/a.py", "was": "", "change": "modified", "added": 1, "deleted": 0}]
    assert unstaged["patch"].endswith(" one\n TWO\n three\n+four\n")
    assert (staged["files"], staged["patch"]) == ([], "")
    assert {each["path"]: each["change"] for each in between["files"]} == {
        "src/a.py": "modified",
        "gone.txt": "deleted",
    }


async def test_a_long_patch_is_cut_and_says_so(app: App) -> None:
    diff = await value_of(app, "git.diff(base='topic', limit=3)")

    assert (diff["patch"].count("\n"), diff["more"], diff["total"]) == (2, True, 2)


async def test_show_has_the_commit_and_what_it_changed_in_a_path(app: App) -> None:
    shown = await value_of(app, "git.show(path='src')")
    nothing = await value_of(app, "git.show(revision='topic', path='new.txt')")

    assert shown["commit"]["subject"] == "Shout"
    assert [each["path"] for each in shown["diff"]["files"]] == ["src/a.py"]
    assert (nothing["commit"]["subject"], nothing["diff"]["files"]) == ("Begin", [])


async def test_blame_tells_who_wrote_each_line(app: App) -> None:
    whole = await value_of(app, "git.blame(path='src/a.py')")
    chosen = await value_of(app, "git.blame(path='src/a.py', lines=[3, 2])")
    before = await value_of(app, "git.blame(path='src/a.py', revision='topic', offset=2, limit=1)")

    assert [each["author"] for each in whole["lines"]] == ["Ada", "Grace", "Ada", ""]
    assert [(each["line"], each["text"]) for each in chosen["lines"]] == [(2, "TWO"), (3, "three")]
    assert [each["text"] for each in before["lines"]] == ["two"]
    assert before["more"]


async def test_branches_are_listed_with_their_last_commit(app: App) -> None:
    branches = await value_of(app, "git.branches()")

    assert {each["name"]: (each["current"], each["subject"]) for each in branches["branches"]} == {
        "main": (True, "Shout"),
        "topic": (False, "Begin"),
    }


@pytest.mark.parametrize(
    "code",
    ["git.log(revision='nowhere')", "git.diff(head='main')", "git.blame(path='none.py')", "git.log(limit=-1)"],
)
async def test_what_is_not_there_is_refused_in_a_sentence(app: App, code: str) -> None:
    refusal = await refusal_of(app, code)

    assert "incident" not in refusal


@pytest.fixture(scope="module")
async def dated(app: App) -> str:
    """A repository whose file was renamed, with commits around midnight, tags, and a secret that was committed."""
    folder = app.loaded.project / "dated"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".onetool").mkdir()
    (folder / ".onetool" / "secrets.yaml").write_text("key: open-sesame\n")
    for number, moment in enumerate(["01-01T23:30", "01-02T00:30", "01-02T23:30", "01-03T00:30", "02-01T00:30"]):
        when = f"2020-{moment}:00"
        (folder / ("old.txt" if number < 2 else "new.txt")).write_text(f"first\nsecond\nthird\nnumber {number}\n")
        if number == 2:
            (folder / "old.txt").unlink()
        git(folder, "add", "--all", "--force")
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "TZ": os.environ.get("TZ", "")}
        git(folder, "commit", "--quiet", "-m", moment, environ=dates if dates["TZ"] else dates | {"TZ": "UTC"})
        if number == 1:
            git(folder, "tag", "light")
        if number == 3:
            later = {"GIT_COMMITTER_DATE": "2021-01-01T00:00:00"}
            git(folder, "tag", "-a", "v1", "-m", "The first release", environ=later)
    return "dated"


@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        ("since='2020-01-02', until='2020-01-02'", ["01-02T23:30", "01-02T00:30"]),
        ("since='2020/1/3'", ["02-01T00:30", "01-03T00:30"]),
        ("until='2 Jan 2020'", ["01-02T23:30", "01-02T00:30", "01-01T23:30"]),
        ("since='2020-02'", ["02-01T00:30"]),
        ("until='2020-01'", ["01-03T00:30", "01-02T23:30", "01-02T00:30", "01-01T23:30"]),
        ("since='2020-01-02 12:00', until='2020-01-02'", ["01-02T23:30"]),
        ("since='today'", []),
        ("path='dated/new.txt'", ["02-01T00:30", "01-03T00:30", "01-02T23:30"]),
        ("path='dated/new.txt', follow=True, limit=9", [
            "02-01T00:30", "01-03T00:30", "01-02T23:30", "01-02T00:30", "01-01T23:30"]),
        ("change='number 3'", ["02-01T00:30", "01-03T00:30"]),
        ("change='NUMBER 3'", []),
        ("change='open-sesame'", []),
    ],
)  # fmt: skip
async def test_log_goes_by_whole_days_names_and_changes(
    app: App, dated: str, arguments: str, subjects: list[str]
) -> None:
    log = await value_of(app, f"git.log(**{{'path': '{dated}'}} | dict({arguments}))")

    assert [commit["subject"] for commit in log["commits"]] == subjects


async def test_a_file_is_read_as_it_was(app: App, dated: str) -> None:
    old = await value_of(app, f"git.read(path='{dated}/old.txt', revision='light', offset=3, limit=1)")
    new = await value_of(app, f"git.read(path='{dated}/new.txt')")
    closed = await refusal_of(app, f"git.read(path='{dated}/.onetool/secrets.yaml')")

    assert (old["lines"], old["total"], old["more"]) == (["third"], 4, True)
    assert (new["lines"][-1], new["more"]) == ("number 4", False)
    assert "open-sesame" not in closed


async def test_tags_are_listed_with_their_commits(app: App, dated: str) -> None:
    tags = await value_of(app, f"git.tags(path='{dated}')")
    commits = (await value_of(app, f"git.log(path='{dated}')"))["commits"]

    assert [(tag["name"], tag["commit"], tag["subject"]) for tag in tags["tags"]] == [
        ("v1", commits[1]["commit"], "The first release"),
        ("light", commits[3]["commit"], "01-02T00:30"),
    ]


async def test_a_day_that_does_not_exist_is_refused(app: App) -> None:
    assert "is not a day" in await refusal_of(app, "git.log(since='2026-02-31')")


async def test_a_person_sees_what_they_agree_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_name(tmp_path / "home", monkeypatch)
    questions: list[str] = []

    async def note(question: str, choices: Sequence[Choice]) -> Choice:
        questions.append(question)
        return choices[0]

    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        (repository / "b.txt").write_text("b\n")
        for code in (
            "git.add(paths=['r/a.txt', 'r/b.txt'])",
            "git.commit(path='r', message='Change a\\n\\nAnd add b.')",
            "git.switch(path='r', branch='topic', create=True)",
            "git.switch(path='r', branch='main')",
        ):
            answer = await app.runner.run(code, caller=Caller(ask=note))
            assert not answer.is_error, answer.text

    assert questions[0].startswith("Stage these files?")
    assert '  files = ["modified: a.txt", "untracked: b.txt"]\n' in questions[0]
    assert "    | Change a\n    | \n    | And add b.\n" in questions[1]
    assert '  files = ["modified: a.txt", "added: b.txt"]\n' in questions[1]
    assert "topic" in questions[2]
    assert git(repository, "log", "-1", "--format=%an %s") == "Grace Change a"
    assert git(repository, "status", "--short") == ""


async def test_changes_can_be_put_aside_and_brought_back(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        pushed = await value_of(app, "git.stash(path='r', message='half done')")
        between = (repository / "a.txt").read_text()
        popped = await value_of(app, "git.stash(path='r', action='pop')")

    assert (pushed["stashes"], pushed["changes"], between) == (1, [], "a\n")
    assert (popped["stashes"], (repository / "a.txt").read_text()) == (0, "b\n")


async def refuse(question: str, choices: Sequence[Choice]) -> None:
    return None


@pytest.mark.parametrize("caller", [NOBODY, Caller(ask=refuse)], ids=["nobody", "no"])
async def test_without_a_persons_word_nothing_changes(tmp_path: Path, caller: Caller) -> None:
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        git(repository, "branch", "topic")
        git(repository, "config", "user.name", "Ada")
        git(repository, "config", "user.email", "ada@example.org")
        (repository / "a.txt").write_text("b\n")
        codes = ["git.add(paths=['r/a.txt'])", "git.switch(path='r', branch='topic')", "git.stash(path='r')"]
        answers = [await app.runner.run(code, caller=caller) for code in codes]
        git(repository, "add", "a.txt")
        answers.append(await app.runner.run("git.commit(path='r', message='x')", caller=caller))

    assert all(answer.is_error for answer in answers), answers
    assert git(repository, "log", "--format=%s") == "Begin"
    assert git(repository, "branch", "--show-current") == "main"
    assert git(repository, "status", "--short") == "M  a.txt"


async def test_the_persons_policy_can_answer_for_them(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p", config="policy: {allow: [git.add]}") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        answer = await app.runner.run("git.add(paths=['r/a.txt'])")

    assert not answer.is_error, answer.text
    assert git(repository, "status", "--short") == "M  a.txt"


async def test_what_is_staged_meanwhile_is_not_committed_unseen(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        git(repository, "config", "user.name", "Ada")
        git(repository, "config", "user.email", "ada@example.org")
        (repository / "a.txt").write_text("b\n")
        git(repository, "add", "a.txt")

        async def stage_more(question: str, choices: Sequence[Choice]) -> Choice:
            (repository / "a.txt").write_text("c\n")
            git(repository, "add", "a.txt")
            return choices[0]

        answer = await app.runner.run("git.commit(path='r', message='x')", caller=Caller(ask=stage_more))

    assert "were modified while the person was asked" in answer.text
    assert git(repository, "log", "--format=%s") == "Begin"


async def test_a_name_for_this_folder_only_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person's settings are read, with what they include for this repository; not what the repository includes."""
    home = give_name(tmp_path / "home", monkeypatch)
    (home / "work").write_text("[user]\n\tname = Grace at work\n")
    with (home / ".gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{tmp_path}/p/"]\n\tpath = work\n')
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        git(repository, "add", "a.txt")
        await value_of(app, "git.commit(path='r', message='x')")

    assert git(repository, "log", "-1", "--format=%an <%ae>") == "Grace at work <grace@example.org>"


async def test_without_a_name_nothing_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        git(repository, "add", "a.txt")
        refusal = await refusal_of(app, "git.commit(path='r', message='x')")

    assert "git config --global user.name" in refusal


async def test_a_linked_worktree_works_where_its_repository_is_allowed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        main = new_repository(tmp_path / "p" / "main", {"a.txt": "a\n"})
        subprocess.run(["git", "worktree", "add", "-q", "../linked"], cwd=main, check=True)
        await value_of(app, "git.switch(path='linked', branch='topic', create=True)")
        status = await value_of(app, "git.status(path='linked')")

    assert status["branch"] == "topic"
    assert git(main, "branch", "--show-current") == "main"


async def test_a_repository_that_begins_above_the_project_is_not_used(tmp_path: Path) -> None:
    new_repository(tmp_path / "r", {"a.txt": "a\n"})
    async with open_engine(tmp_path / "r" / "p") as app:
        refusal = await refusal_of(app, "git.status()")

    assert "a person can add that folder to `roots`" in refusal


async def test_a_change_that_is_given_up_is_finished_and_leaves_no_lock(tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "r", {"a.txt": "a\n"})
    (repository / "a.txt").write_text("b\n")
    opened = await open_git(Repository(repository, repository / ".git", repository / ".git"), files=True)

    with anyio.CancelScope() as given_up:
        given_up.cancel()
        await opened.change("add", "a.txt")

    assert given_up.cancelled_caught
    assert git(repository, "status", "--short") == "M  a.txt"
    assert not (repository / ".git" / "index.lock").exists()


def give_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Grace\n\temail = grace@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home
