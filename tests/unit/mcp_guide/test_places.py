"""Where the project is, and where its guide lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_guide.places import LinkedFolderError, Places, find_places


def find(cwd: Path, named: str | None = None, **environ: str) -> Places:
    return find_places(named, environ=environ, cwd=cwd, home=Path("/home/nobody"))


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder inside a project inside a repository."""
    folder = tmp_path / "repository/project/src"
    folder.mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir()
    return folder


def test_the_guide_lies_in_the_root_of_the_repository(tmp_path: Path, deep: Path) -> None:
    root = tmp_path / "repository"

    assert find(deep) == Places(root, root / ".guide", named=False)


def test_a_nearer_guide_makes_a_nearer_project(tmp_path: Path, deep: Path) -> None:
    project = tmp_path / "repository/project"
    (project / ".guide").mkdir()

    assert find(deep) == Places(project, project / ".guide", named=False)


def test_without_any_mark_the_working_directory_is_the_project(tmp_path: Path) -> None:
    assert find(tmp_path) == Places(tmp_path, tmp_path / ".guide", named=False)


def test_the_home_folder_is_no_project_of_what_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / ".guide").mkdir()
    inner = tmp_path / "inner"
    inner.mkdir()

    places = find_places(None, environ={}, cwd=inner, home=tmp_path)

    assert places.project == inner


@pytest.mark.parametrize(
    ("named", "variable", "expected"),
    [("a", "b", "a"), (None, "b", "b"), (None, "/abs", "/abs"), ("a/../c", None, "a/../c"), (None, "", None)],
)
def test_a_folder_can_be_named(deep: Path, named: str | None, variable: str | None, expected: str | None) -> None:
    places = find(deep, named, **({} if variable is None else {"MCP_GUIDE_FOLDER": variable}))

    assert places.named is (expected is not None)
    assert places.folder == (deep / expected if expected else deep.parents[1] / ".guide")


def test_a_guide_that_is_a_link_must_be_named(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".guide").symlink_to("elsewhere")

    with pytest.raises(LinkedFolderError):
        find(tmp_path)

    assert find(tmp_path, ".guide").named


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_guide_that_another_user_left_above_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".guide").mkdir()
    os.chown(tmp_path / ".guide", 12345, 12345)
    inner = tmp_path / "inner"
    inner.mkdir()

    assert find(inner).project == inner
