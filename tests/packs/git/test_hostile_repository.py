"""A repository that would run programs under plain git runs none under ours, and neither wall needs the other."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ot.processes.run_program import run_program
from ot_packs.git.changes import COMMIT_OPTIONS, SWITCH_OPTIONS
from ot_packs.git.outputs import FORMAT, LOG_OPTIONS
from ot_packs.git.program import (
    DIFF_OPTIONS,
    SETTINGS,
    confine_git,
    environment_of,
    find_git,
    open_git,
    setting_variables,
    setting_words,
    without_drivers,
)
from ot_packs.git.repository import Repository
from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of
from tests.packs.git.hostile_repository import PLAIN, WAYS, HostileRepository, git


@pytest.fixture
def hostile(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "repository")


def repository_of(hostile: HostileRepository) -> Repository:
    return Repository(hostile.folder, hostile.folder / ".git", hostile.folder / ".git")


def test_plain_git_runs_a_program_in_every_one_of_these_ways(hostile: HostileRepository) -> None:
    hostile.run_plain()

    assert hostile.taken() == WAYS


async def test_confined_git_runs_none_even_without_our_options(hostile: HostileRepository) -> None:
    program, repository = find_git(), repository_of(hostile)
    personal = {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_EXEC_PATH": str(program.parent), **personal}

    for command in PLAIN:
        await run_program(
            [str(program), *command],
            environ=environ,
            cwd=hostile.folder,
            confine=confine_git(program, repository, writable=repository.places),
        )

    assert hostile.taken() == set()
    assert git(hostile.folder, "-c", "core.fsmonitor=", "log", "-1", "--format=%an") == "Ada"


async def test_our_options_run_none_even_without_confinement(hostile: HostileRepository) -> None:
    repository = repository_of(hostile)
    hardened = await open_git(repository, files=True)
    environ = environment_of(find_git(), repository) | setting_variables(
        {**hardened.settings, "user.name": "Ada", "user.email": "a@b.c"}
    )
    commands = [
        ("status", "--ignore-submodules=dirty"),
        ("diff", *DIFF_OPTIONS, *FORMAT),
        ("log", *LOG_OPTIONS),
        ("show", *DIFF_OPTIONS, "--no-show-signature", "lost"),
        ("blame", "--no-textconv", "text.converted"),
        ("add", "--all"),
        ("commit", *COMMIT_OPTIONS, "--allow-empty"),
        ("stash", "push"),
        ("switch", *SWITCH_OPTIONS, "topic"),
        ("stash", "pop"),
    ]

    for command in commands:
        words = ["git", "--no-pager", *setting_words(SETTINGS), *command]
        subprocess.run(words, env=environ, cwd=hostile.folder, input=b"message", capture_output=True, check=False)

    assert hostile.taken() == set()
    subjects = git(
        hostile.folder, "-c", "core.fsmonitor=", "-c", "log.showSignature=false", "log", "--all", "--format=%s"
    )
    assert "message" in subjects.splitlines()


def test_drivers_of_any_name_are_switched_off() -> None:
    off = without_drivers(["onetool.canary", "filter.a=b.c\x1b.clean", "filter.x.required", "user.name"])

    assert off["filter.a=b.c\x1b.clean"] == ""
    assert off["filter.x.process"] == ""
    assert "user.name" not in off


async def test_our_tools_run_none_and_answer_all_the_same(tmp_path: Path) -> None:
    async with open_engine(tmp_path) as app:
        hostile = HostileRepository(tmp_path / "r")
        status = await value_of(app, "git.status(path='r')")
        diff = await value_of(app, "git.diff(path='r')")
        log = await value_of(app, "git.log(path='r', limit=1)")
        blame = await value_of(app, "git.blame(path='r/text.converted')")
        branches = await value_of(app, "git.branches(path='r')")
        lost = await refusal_of(app, "git.show(path='r', revision='lost')")
        filtered = await refusal_of(app, "git.add(paths=['r'])")
        await value_of(app, "git.add(paths=['r/text.txt', 'r/text.command'])")
        commit = await value_of(app, "git.commit(message='Ours', path='r')")
        smudged = await refusal_of(app, "git.switch(branch='topic', path='r')")
        stashed = await refusal_of(app, "git.stash(path='r')")

        assert hostile.taken() == set()

    changed = {f"r/text.{kind}" for kind in ("command", "converted", "cleaned", "merged", "txt")}
    assert {each["path"] for each in status["changes"] if each["unstaged"] == "modified"} == changed
    assert {each["path"] for each in diff["files"]} == changed
    assert "-first\n+second\n" in diff["patch"]
    assert log["commits"][0]["subject"] == "Add a submodule"
    assert blame["lines"][0]["text"] == "second"
    assert {each["name"] for each in branches["branches"]} == {"main", "topic", "aside"}
    assert commit["subject"] == "Ours"
    assert "git says" in lost
    assert "text.cleaned needs the filter driver 'cleaned'" in filtered
    assert "text.smudged needs the filter driver 'smudged'" in smudged
    assert "text.cleaned needs the filter driver 'cleaned'" in stashed
