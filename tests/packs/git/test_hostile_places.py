"""A repository cannot lead git out of the allowed folders, nor to secrets and our own files in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine import open_engine
from tests.packs.answers import refusal_of, value_of
from tests.packs.git.hostile_repository import git, new_repository


async def test_variables_of_the_server_mean_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = new_repository(tmp_path / "other", {"private.txt": "private\n"})
    mark = tmp_path / "mark"
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR"):
        monkeypatch.setenv(name, f"touch {mark}")
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": f"touch {mark}"}
    for name, value in {**settings, "GIT_DIR": str(other / ".git"), "GIT_TRACE": str(tmp_path / "trace")}.items():
        monkeypatch.setenv(name, value)

    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        (repository / "a.txt").write_text("b\n")
        diff = await value_of(app, "git.diff(path='r')")

    assert [each["path"] for each in diff["files"]] == ["r/a.txt"]
    assert not mark.exists()
    assert not (tmp_path / "trace").exists()


async def test_what_leads_out_of_the_roots_is_not_followed(tmp_path: Path) -> None:
    outside = new_repository(tmp_path / "outside", {"private.txt": "private\n"})
    private = git(outside, "rev-parse", "HEAD")
    async with open_engine(tmp_path / "p") as app:
        inside = tmp_path / "p"
        (inside / "pointed").mkdir()
        (inside / "pointed" / ".git").write_text(f"gitdir: {outside}/.git\n")
        (inside / "linked").mkdir()
        (inside / "linked" / ".git").symlink_to(outside / ".git")
        shared = new_repository(inside / "shared", {"a.txt": "a\n"})
        (shared / ".git" / "commondir").write_text(f"{outside}/.git\n")
        borrowing = new_repository(inside / "borrowing", {"a.txt": "a\n"})
        (borrowing / ".git" / "objects" / "info" / "alternates").write_text(f"{outside}/.git/objects\n")
        refusals = [await refusal_of(app, f"git.log(path='{name}')") for name in ("pointed", "linked", "shared")]
        borrowed = await refusal_of(app, f"git.show(path='borrowing', revision='{private}')")

        assert git(borrowing, "show", "--format=%s", private).startswith("Begin")  # plain git follows them

    assert all("the folders that tools may use" in refusal for refusal in refusals)
    assert "private" not in borrowed.replace(private, "")


async def test_a_working_tree_elsewhere_is_neither_read_nor_written(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private\n")
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        git(repository, "branch", "topic")
        git(repository, "config", "core.worktree", str(outside))
        status = await value_of(app, "git.status(path='r')")
        await value_of(app, "git.switch(branch='topic', path='r')")

        assert "private.txt" in git(repository, "status", "--short")  # plain git follows it

    assert status["changes"] == []
    assert sorted(path.name for path in outside.iterdir()) == ["private.txt"]


async def test_nothing_is_written_through_links_of_a_git_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        logs = repository / ".git" / "logs"
        logs.rename(repository / ".git" / "elsewhere")
        logs.symlink_to(outside)
        refused = await refusal_of(app, "git.switch(branch='topic', create=True, path='r')")
        left = list(outside.iterdir())
        git(repository, "switch", "--create", "other")

        assert list(outside.iterdir())  # plain git writes there

    assert "git says" in refused
    assert left == []


async def test_a_folder_that_looks_like_a_bare_repository_is_none(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        folder = tmp_path / "p" / "files"
        folder.mkdir()
        git(folder, "init", "--bare", "--quiet", ".")
        git(folder, "config", "core.bare", "false")
        git(folder, "config", "core.worktree", ".")
        git(folder, "config", "core.fsmonitor", f"touch {tmp_path}/mark")
        git(folder, "status")
        ran = (tmp_path / "mark").exists()
        (tmp_path / "mark").unlink(missing_ok=True)
        refused = await refusal_of(app, "git.status(path='files')")

    assert ran  # plain git takes it for one
    assert "there is no git repository here" in refused
    assert not (tmp_path / "mark").exists()


async def test_settings_included_from_elsewhere_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("[user]\n\tname = Somebody\n\temail = s@example.org\n")
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", {"a.txt": "a\n"})
        git(repository, "config", "include.path", str(tmp_path / "elsewhere"))
        refused = await refusal_of(app, "git.status(path='r')")

    assert "unable to access" in refused


async def test_secrets_and_our_own_folder_are_neither_shown_nor_changed(tmp_path: Path) -> None:
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(
            tmp_path / "p" / "r",
            {"Secrets.yaml": "old\n", ".onetool/x.yaml": "old\n", "sub/secrets.yml": "old\n", "a.txt": "a\n"},
        )
        git(repository, "switch", "--quiet", "--create", "topic")
        (repository / ".onetool" / "x.yaml").write_text("topic\n")
        git(repository, "commit", "--quiet", "--all", "-m", "Change")
        git(repository, "switch", "--quiet", "main")
        for name in ("Secrets.yaml", ".onetool/x.yaml", "sub/secrets.yml", "a.txt"):
            (repository / name).write_text("hidden\n")
        diff = await value_of(app, "git.diff(path='r')")
        first = await value_of(app, "git.show(path='r')")
        await value_of(app, "git.add(paths=['r'])")
        staged = git(repository, "diff", "--cached", "--name-only")
        refusals = [
            await refusal_of(app, call)
            for call in (
                "git.add(paths=['r/.onetool/x.yaml'])",
                "git.blame(path='r/sub/secrets.yml')",
                "git.stash(path='r')",
                "git.switch(path='r', branch='topic')",
            )
        ]

    assert [each["path"] for each in diff["files"]] == ["r/a.txt"]
    assert [each["path"] for each in first["diff"]["files"]] == ["r/a.txt"]
    assert staged == "a.txt"
    assert all("tools may not change" in refusal or "cannot be read" in refusal for refusal in refusals), refusals
