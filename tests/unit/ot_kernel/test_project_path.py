"""A project's path joins as a path does, stays a ProjectPath, and carries the project's own attributes."""

from __future__ import annotations

import copy
import os
from pathlib import PurePath

import pytest

from ot_kernel.project_path import ProjectPath

HOME = ProjectPath("home", "/srv/home", {"port": 8080, "nothing": None, "name": "ours"})


@pytest.mark.scenario("run/project-pack-proxy/path-operations-in-code")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        (HOME / "src", "/srv/home/src"),
        (HOME / "src" / "a.py", "/srv/home/src/a.py"),
        (HOME / PurePath("a/b"), "/srv/home/a/b"),
        (HOME / ProjectPath("other", "sub"), "/srv/home/sub"),
        (HOME.parent, "/srv"),
        ((HOME / "a.txt").with_suffix(".md"), "/srv/home/a.md"),
        (HOME.joinpath("a", "b"), "/srv/home/a/b"),
    ],
    ids=str,
)
def test_joining_gives_a_project_path(path: ProjectPath, text: str) -> None:
    assert isinstance(path, ProjectPath)
    assert (str(path), path.project, path.port) == (text, "home", 8080)


def test_it_tells_what_a_pure_path_tells() -> None:
    path = HOME / "a.tar.gz"

    assert (path.suffix, path.suffixes, path.stem, path.parts[-1]) == (".gz", [".tar", ".gz"], "a.tar", "a.tar.gz")
    assert path.is_absolute()
    assert path.relative_to("/srv") == PurePath("home/a.tar.gz")


def test_the_projects_own_attributes_come_first() -> None:
    assert HOME.name == "ours"


def test_an_attribute_that_is_null_is_none() -> None:
    assert HOME.nothing is None


def test_a_missing_attribute_is_named_beside_those_there_are() -> None:
    with pytest.raises(
        AttributeError, match="project 'home' has no attribute 'colour'; its attributes are name, nothing, port"
    ):
        _ = HOME.colour


def test_it_can_be_handed_to_what_takes_a_path() -> None:
    assert os.fspath(HOME) == "/srv/home"
    assert f"{HOME}/x" == "/srv/home/x"


def test_it_equals_the_same_path_and_can_be_a_key() -> None:
    assert ProjectPath("other", "/srv/home") == HOME
    assert PurePath("/srv/home") == HOME
    assert HOME != "/srv/home"
    assert {HOME: 1}[ProjectPath("home", "/srv/home")] == 1


def test_it_can_be_copied() -> None:
    assert copy.deepcopy(HOME).port == 8080


def test_it_touches_no_disk() -> None:
    for name in ("exists", "read_text", "open", "mkdir", "unlink", "iterdir"):
        assert not hasattr(HOME, name)
