"""Listing, finding and trees, with .gitignore and without."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ot.errors import PathRefusedError, ToolError
from ot.files.allowed_files import AllowedFiles
from ot.files.tree import DEEPEST
from tests.availability import require_program
from tests.packs.file.caller import Caller

FILES = ("README.md", "src/a.py", "src/b.ts", "src/deep/er/c.py", "src/deep/d.tsx", "docs/e.md", "build/f.py")


@pytest.fixture
def project(call: Caller) -> Path:
    for name in FILES:
        call.write(name, name)
    return call.project


async def names(call: Caller, tool: str, **arguments: object) -> list[str]:
    return [entry["path"] for entry in (await call(tool, **arguments))["entries"]]


async def test_a_folder_is_listed_by_name_and_page(call: Caller, project: Path) -> None:
    (project / "link").symlink_to("README.md")

    listing = await call("list")
    second = await call("list", offset=2, limit=2)

    assert [(entry["path"], entry["kind"]) for entry in listing["entries"]] == [
        ("README.md", "file"),
        ("build", "folder"),
        ("docs", "folder"),
        ("link", "link"),
        ("src", "folder"),
    ]
    assert listing["entries"][0]["size"] == 9
    assert ([entry["path"] for entry in second["entries"]], second["total"], second["more"]) == (
        ["build", "docs"],
        5,
        True,
    )


async def test_paths_can_be_given_to_every_tool(call: Caller, project: Path) -> None:
    listed = await names(call, "list", path="src/deep")
    found = await names(call, "find", query="deep/*.tsx", path="src/../src")

    assert (listed, found) == (["src/deep/d.tsx", "src/deep/er"], ["src/deep/d.tsx"])
    assert (await call("read", path=found[0]))["total"] == 1


async def test_entries_are_counted_even_if_none_is_wanted(call: Caller, project: Path) -> None:
    listing = await call("list", limit=0)

    assert (listing["entries"], listing["total"], listing["more"]) == ([], 4, True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("*.py", ["build/f.py", "src/a.py", "src/deep/er/c.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/er/c.py"]),
        ("**/*.{ts,tsx}", ["src/b.ts", "src/deep/d.tsx"]),
        ("*.m[dk]", ["README.md", "docs/e.md"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/deep", "src/deep/d.tsx", "src/deep/er", "src/deep/er/c.py"]),
        ("readme.md", []),
        ("deep", ["src/deep"]),
        ("?????e.md", []),
    ],
)
async def test_files_are_found_by_globs(call: Caller, project: Path, query: str, expected: list[str]) -> None:
    assert await names(call, "find", query=query) == expected


async def test_matches_are_counted_beyond_the_limit(call: Caller, project: Path) -> None:
    found = await call("find", query="*", kind="file", limit=2, offset=2)

    assert ([entry["path"] for entry in found["entries"]], found["total"], found["more"]) == (
        ["build/f.py", "docs/e.md"][0:2],
        7,
        True,
    )


@pytest.mark.parametrize("query", ["*a" * 300 + "b", "**/" * 200 + "x", "a*" * 400, "{b,c}" * 6 + "*", "[" * 500])
async def test_no_glob_takes_long(call: Caller, query: str) -> None:
    folder = "/".join("a" * 100 for _ in range(20))
    call.write(f"{folder}/{'a' * 200}.txt", "")

    assert await names(call, "find", query=query) == []


@pytest.mark.parametrize("query", ["", "x" * 2000, "{a,b}" * 50, "a\0"])
async def test_a_glob_that_makes_no_sense_is_told(call: Caller, query: str) -> None:
    with pytest.raises(ToolError, match=r"glob|braces"):
        await call("find", query=query)


async def test_a_tree_has_folders_in_folders(call: Caller, project: Path) -> None:
    tree = await call("tree", path="src", depth=2)

    assert tree == {
        "path": "src",
        "tree": {"a.py": 8, "b.ts": 8, "deep/": {"d.tsx": 14, "er/": {}}},
        "total": 5,
        "more": False,
    }


async def test_a_tree_shows_the_top_first(call: Caller, project: Path) -> None:
    tree = await call("tree", limit=5)

    assert tree["tree"] == {"README.md": 9, "build/": {"f.py": 10}, "docs/": {}, "src/": {}}
    assert (tree["total"], tree["more"]) == (11, True)


IGNORED = """
# made by the build
build/
*.log
!kept.log
/top.txt
docs/**/*.tmp
\\#odd
spa ce
a/b
"""


async def test_what_git_ignores_is_left_out_as_git_does(call: Caller, project: Path) -> None:
    require_program("git")
    call.write(".gitignore", IGNORED)
    call.write("src/.gitignore", "*.ts\n!/deep/\n")
    for name in (
        "x.log",
        "kept.log",
        "src/y.log",
        "top.txt",
        "src/top.txt",
        "docs/x/y.tmp",
        "docs/z.tmp",
        "#odd",
        "spa ce",
        "a/b",
        "c/a/b",
        "src/build",
    ):
        call.write(name, "x")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    shown = subprocess.run(
        [
            "git",
            "-c",
            "core.quotePath=off",
            "-c",
            "core.excludesFile=/dev/null",
            "ls-files",
            "--others",
            "--exclude-standard",
        ],
        cwd=project,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()

    found = await names(call, "find", query="*", kind="file")
    inside = await names(call, "find", query="*", kind="file", path="src")

    assert found == sorted(shown, key=lambda path: path.split("/"))
    assert inside == [path for path in found if path.startswith("src/")]
    assert "build/f.py" in await names(call, "find", query="*.py", ignored=True)


async def test_no_search_enters_the_persons_own_folder_or_follows_links(call: Caller, project: Path) -> None:
    home = project.parent
    (home / ".onetool").mkdir()
    (home / ".onetool" / "token.py").write_text("secret")
    (project / "out").symlink_to("/etc")
    (project / "round").symlink_to(".")
    call.executor.lend(AllowedFiles([home], project=home, home=home))

    found = await names(call, "find", query="*", ignored=True)

    assert ".onetool/token.py" not in found
    assert [path for path in found if "round/" in path or "out/" in path] == []
    assert "project/src/a.py" in found


async def test_a_folder_that_cannot_be_read_does_not_end_a_search(call: Caller, project: Path) -> None:
    (project / "build").chmod(0)
    try:
        found = await names(call, "find", query="*.py")
    finally:
        (project / "build").chmod(0o755)

    assert set(found) >= {"src/a.py", "src/deep/er/c.py"}


async def test_a_deep_tree_is_walked_as_far_as_descriptors_reach(call: Caller, project: Path) -> None:
    folder = os.open(project, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)

    found = await call("find", query="d", limit=0)
    with pytest.raises(PathRefusedError, match="levels of folders"):
        await call("delete", path="d", recursive=True)

    assert found["total"] == DEEPEST
