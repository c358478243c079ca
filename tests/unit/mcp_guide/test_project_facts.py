"""What templates can know of a project."""

from __future__ import annotations

import os
import subprocess
from datetime import date
from pathlib import Path

import pytest

from mcp_guide.tools.tool_template import ProjectFacts, collect_facts
from tests.availability import require_program

TODAY = date(2026, 2, 3)


def facts_of(project: Path) -> ProjectFacts:
    return collect_facts(project, today=TODAY)


def test_an_empty_folder_has_its_own_name(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()

    assert facts_of(project) == ProjectFacts("shop", "", "", str(project), [], [], "", "2026-02-03")


@pytest.mark.parametrize(
    ("file", "text", "name", "languages"),
    [
        ("pyproject.toml", '[project]\nname = "shop"\nversion = "1.2"', "shop", ["Python"]),
        ("package.json", '{"name": "shop", "version": "1.2"}', "shop", ["JavaScript"]),
        ("Cargo.toml", '[package]\nname = "shop"\nversion = "1.2"', "shop", ["Rust"]),
        ("go.mod", "module example.com/shop\n\ngo 1.22\n", "shop", ["Go"]),
        ("Makefile", "all:", "", []),
    ],
)
def test_the_file_of_a_language_names_the_project(
    tmp_path: Path, file: str, text: str, name: str, languages: list[str]
) -> None:
    (tmp_path / file).write_text(text)

    facts = facts_of(tmp_path)

    assert (facts.name, facts.languages, facts.markers) == (name or tmp_path.name, languages, [file])
    assert facts.version == ("1.2" if "version" in text else "")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", "nonsense ["),
        ("pyproject.toml", 'project = "text"'),
        ("pyproject.toml", f"a = {'[' * 10_000}"),
        ("package.json", "[" * 200_000),
        ("package.json", '{"name": 7}'),
        ("package.json", '"text"'),
        ("package.json", '{"x": ' + "9" * 5000 + "}"),
        ("go.mod", ""),
        (".git", "gitdir: /nowhere"),
        (".git", "gitdir: \0"),
        (".git", ""),
    ],
)
def test_a_broken_file_says_nothing(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)

    facts = facts_of(tmp_path)

    assert (facts.name, facts.branch) == (tmp_path.name, "")


def test_a_file_that_is_a_pipe_or_a_link_says_nothing(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "secret.toml").write_text('[project]\nname = "secret"')
    (project / "pyproject.toml").symlink_to("../secret.toml")
    os.mkfifo(project / "package.json")

    facts = facts_of(project)

    assert (facts.name, facts.markers) == ("project", ["pyproject.toml", "package.json"])


def test_several_languages_are_all_named(tmp_path: Path) -> None:
    for file in ("requirements.txt", "pyproject.toml", "tsconfig.json", "package.json", "Dockerfile"):
        (tmp_path / file).touch()

    assert facts_of(tmp_path).languages == ["Python", "JavaScript", "TypeScript"]


def git(folder: Path, *arguments: str) -> None:
    options = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_branch_is_the_one_that_git_has_checked_out(tmp_path: Path) -> None:
    require_program("git")
    git(tmp_path, "init")
    assert facts_of(tmp_path).branch == "main"

    git(tmp_path, "commit", "--allow-empty", "-m", "x")
    git(tmp_path, "checkout", "-b", "feature/one-two")
    assert facts_of(tmp_path).branch == "feature/one-two"

    git(tmp_path, "worktree", "add", "-b", "other", "tree")
    assert facts_of(tmp_path / "tree").branch == "other"

    git(tmp_path, "checkout", "--detach")
    assert len(facts_of(tmp_path).branch) == 12


@pytest.mark.parametrize("head", ["", "ref: refs/heads/", "ref: refs/heads/a b", "<script>", "f" * 39, "x" * 3_000_000])
def test_a_head_that_names_no_branch_gives_none(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(head)

    assert facts_of(tmp_path).branch == ""


def test_a_project_that_is_gone_has_only_a_name(tmp_path: Path) -> None:
    assert facts_of(tmp_path / "gone").name == "gone"
