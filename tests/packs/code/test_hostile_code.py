"""The code pack among hostile files, patterns and neighbours."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.app import App
from ot.files.allowed_files import AllowedFiles
from ot_packs.code.helper import RewritePlan, apply_rewrite
from ot_packs.code.patches import Edit, apply_edits, write_patch
from ot_packs.code.source_files import find_tree
from tests.availability import require_program
from tests.engine import open_engine
from tests.packs.answers import value_from

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_engine(tmp_path / "project") as app:
        yield app


async def value_of(app: App, command: str) -> Any:
    answer = await app.runner.run(command)
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


REWRITE = "code.rewrite(pattern='steal($A)', replacement='kept($A)', language='python', apply=True"


async def test_links_lead_neither_in_nor_out(app: App, tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    outside.mkdir()
    (outside / "prey.py").write_text("steal(1)\n")
    (project / "file.py").symlink_to(outside / "prey.py")
    (project / "folder").symlink_to(outside)
    (project / "up.py").symlink_to("../outside/prey.py")
    os.link(outside / "prey.py", tmp_path / "second")

    for path in ("", "file.py", "folder", "folder/prey.py", "../outside", str(outside), "/proc/self/cwd/../outside"):
        answer = await app.runner.run(f"{REWRITE}, path={path!r})")
        assert answer.is_error or "files: 0" in answer.text, path
        found = await app.runner.run(f"code.search(query='steal', path={path!r})")
        assert found.is_error or "total: 0" in found.text, path
    assert (outside / "prey.py").read_text() == "steal(1)\n"


async def test_nothing_below_onetool_and_no_secret_is_read_or_written(app: App, tmp_path: Path) -> None:
    project = tmp_path / "project"
    places = [".onetool/tools/x.py", "sub/.onetool/x.py", "secrets.yaml", "sub/secrets.yml"]
    for name in places:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("steal(1)\n")

    for path in ("", ".onetool", "sub/.onetool", "secrets.yaml", "sub/secrets.yml", ".onetool/tools/x.py"):
        answer = await app.runner.run(f"{REWRITE}, path={path!r})")
        assert answer.is_error or "files: 0" in answer.text or "not_written" in answer.text, path
        found = await app.runner.run(f"code.find(pattern='steal($A)', language='yaml', path={path!r})")
        assert found.is_error or "total: 0" in found.text, path
    assert {(project / name).read_text() for name in places} == {"steal(1)\n"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(" * 50_000 + ")" * 50_000, id="deep"),
        pytest.param("[" * 200_000, id="open"),
        pytest.param("\ufeff\x01\x02steal(1)\u2028\u0085\n\r\r\n", id="odd characters"),
        pytest.param("steal(1);" * 50_000, id="one long line"),
        pytest.param("steal('\N{GRINNING FACE}' * 3)\n\n\n" * 2000, id="many"),
    ],
)
async def test_odd_sources_are_survived(app: App, tmp_path: Path, text: str) -> None:
    file = tmp_path / "project" / "odd.py"
    file.write_bytes(text.encode())

    found = await value_from(
        app.executor,
        "code.rewrite",
        {"pattern": "steal($A)", "replacement": "kept($A)", "language": "python", "apply": True},
    )

    count = text.count("steal")
    assert found["unread"] == ["odd.py"] or (found["matches"], file.read_bytes()) == (
        count,
        text.replace("steal", "kept").encode(),
    )


async def test_a_panic_of_the_library_costs_one_file_and_is_no_traceback() -> None:
    from ot.errors import ToolError
    from ot_packs.code import matching

    broken: matching.Source = ("broken.py", "f(1)", "no such language")  # the library panics at it
    found = matching.references_in(sources=[broken, ("b.py", "f(1)", "python")], name="f", limit=9)

    assert found["unread"] == ["broken.py"]
    assert [reference["path"] for reference in found["found"]] == ["b.py"]
    with pytest.raises(ToolError, match="not one piece of"):
        matching.check_pattern("a", "no such language")


async def test_a_file_that_changes_meanwhile_is_left_alone_and_named(tmp_path: Path) -> None:
    files = AllowedFiles((tmp_path,), project=tmp_path, home=tmp_path / "home")
    versions = {}
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (tmp_path / name).write_text("old\n")
    tree = find_tree(files, "")
    for found in tree.walk():
        read = found.read()
        assert read is not None
        versions[found.path] = read[1]
    (tmp_path / "b.py").write_text("new\n")  # of the same size
    (tmp_path / "c.py").unlink()
    (tmp_path / "d.py").unlink()
    (tmp_path / "d.py").symlink_to(tmp_path / "b.py")

    failed = apply_rewrite(RewritePlan([(name, "mine\n", version) for name, version in versions.items()]), tree)

    assert sorted(failed) == ["b.py", "c.py", "d.py"]
    assert (tmp_path / "a.py").read_text() == "mine\n"
    assert (tmp_path / "b.py").read_text() == "new\n"
    assert not (tmp_path / "c.py").exists()


async def test_a_read_only_file_is_named_and_the_others_are_written(app: App, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in ("a.py", "b.py"):
        (project / name).write_text("steal(1)\n")
    (project / "a.py").chmod(0o444)

    found = await value_of(app, f"{REWRITE})")

    assert found["written"] == ["b.py"]
    assert found["not_written"][0]["path"] == "a.py"
    assert "read-only" in found["not_written"][0]["reason"]
    assert stat.S_IMODE((project / "a.py").stat().st_mode) == 0o444


async def test_a_rewrite_that_nobody_could_read_changes_nothing(app: App, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for number in range(6):
        (project / f"{number}.py").write_text(f"steal('{'x' * 18_000}')\n" * 50)

    answer = await app.runner.run(f"{REWRITE})")

    assert answer.is_error
    assert "its diff has more than 8 MB" in answer.text
    assert "kept" not in (project / "0.py").read_text()


async def test_a_rule_that_would_make_a_regular_expression_run_for_ever_does_not(app: App, tmp_path: Path) -> None:
    project = tmp_path / "project"
    rules = ["*a" * 60 + "b", "**/" * 100 + "x", "a/**/" * 50 + "b", "[" * 100, "[z-a]", "(a+)+$"]
    (project / ".gitignore").write_text("\n".join(rules))
    (project / ("a" * 250)).write_text("okapi")
    deep = project.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "a").write_text("okapi")

    assert (await value_of(app, "code.search(query='okapi')"))["total"] == 2


BLANK = " "
RULES = f"""\
# comment
\\#kept
*.log
!important.log
/root.txt
build/
docs/*.tmp
**/deep/x
a/**/b
folder/**
spaced\\{BLANK}
tail{BLANK}{BLANK}
[abc]?.c
!/keep/build/
"""
PATHS = [
    "#kept", "x.log", "s/x.log", "important.log", "s/important.log", "root.txt", "s/root.txt", "build/x", "s/build/x", "buildx",
    "docs/x.tmp", "docs/s/x.tmp", "deep/x", "q/deep/x", "q/w/deep/x/y", "a/b", "a/q/b", "a/q/w/b", "qa/b", "folder/x", "folder/y/z",
    "q/folder/x", "spaced ", "spaced", "tail", "a1.c", "d1.c", "a.c", "keep/build/x", "plain",
]  # fmt: skip


def test_what_is_ignored_is_what_git_ignores(tmp_path: Path) -> None:
    require_program("git")
    project = tmp_path / "project"
    for name in PATHS:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        if not (project / name).is_dir():
            (project / name).write_text("x")
    (project / ".gitignore").write_text(RULES)
    (project / "keep" / ".gitignore").write_text("plain.py\n!*.log\n")
    for name in ("keep/plain.py", "keep/x.log", "keep/s/plain.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    (project / ".git" / "info" / "exclude").write_text("a1.c\nplain\n")
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"], cwd=project, check=True, capture_output=True
    )
    files = AllowedFiles((project,), project=project, home=tmp_path)

    found = sorted(found.path for found in find_tree(files, "").walk())

    assert found == sorted(name for name in listed.stdout.decode().split("\0") if name)


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("a\nb\nc\n", [Edit(2, 3, "B")]),
        ("a\nb\nc", [Edit(4, 5, "C\nD")]),
        ("a\nb\nc\n", [Edit(2, 4, "")]),
        ("a\nb\nc\n", [Edit(1, 4, "")]),
        ("a\nb\nc\n", [Edit(0, 0, "new\n")]),
        ("a\nb\nc\n", [Edit(6, 6, "end")]),
        ("a\nb\nc", [Edit(5, 5, "\n")]),
        ("a\n" * 30, [Edit(0, 1, "x"), Edit(20, 21, "y"), Edit(58, 60, "z")]),
        ("a b c\nd\n", [Edit(0, 1, "x"), Edit(2, 3, "y\nz"), Edit(6, 7, "w")]),
        ("a\r\nb\u2028\x0cc\r\n", [Edit(3, 4, "B")]),
        ("a\nb\n", [Edit(0, 4, "")]),
        ("a", [Edit(0, 1, "b\n")]),
    ],
)
def test_a_patch_is_what_git_needs_to_make_the_change(tmp_path: Path, text: str, edits: list[Edit]) -> None:
    (tmp_path / "file.txt").write_bytes(text.encode())

    patch = write_patch("file.txt", text, edits)
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], cwd=tmp_path, input=patch.encode(), check=True)

    after = (tmp_path / "file.txt").read_bytes().decode() if (tmp_path / "file.txt").exists() else ""
    assert after == apply_edits(text, edits)


def test_an_edit_that_changes_nothing_is_no_patch() -> None:
    assert write_patch("a", "x\n", [Edit(0, 1, "x")]) == ""
