"""code.rewrite: one diff over many files, written whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ot.app import App
from tests.engine import open_engine
from tests.packs.answers import value_from

pytestmark = pytest.mark.anyio


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with open_engine(tmp_path) as app:
        yield app


async def value_of(app: App, command: str) -> Any:
    answer = await app.runner.run(command)
    assert not answer.is_error, answer.text
    return yaml.safe_load(answer.text)


RENAME = "code.rewrite(pattern='old_call($$$A)', replacement='new_call($$$A)', language='python'"


async def test_without_apply_nothing_is_written(app: App, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("old_call(1)\n")

    found = await value_of(app, f"{RENAME})")

    assert found == {
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-old_call(1)\n+new_call(1)\n",
        "files": 1,
        "matches": 1,
        "written": [],
        "not_written": [],
        "unread": [],
    }
    assert (tmp_path / "a.py").read_text() == "old_call(1)\n"


async def test_applied_it_keeps_everything_else_of_a_file(app: App, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes("\ufeffx = 'é😀'\r\nold_call(\r\n    1,\t2)\r\n# old_call()\r\ny = old_call()".encode())
    file.chmod(0o754)

    found = await value_of(app, f"{RENAME}, apply=True)")

    assert found["written"] == ["a.py"]
    assert file.read_bytes() == "\ufeffx = 'é😀'\r\nnew_call(1,\t2)\r\n# old_call()\r\ny = new_call()".encode()
    assert file.stat().st_mode & 0o777 == 0o754


@pytest.mark.parametrize(
    ("source", "pattern", "replacement", "after"),
    [
        pytest.param("f(f(1))\n", "f($A)", "g($A)", "g(f(1))\n", id="inside of a match nothing is replaced again"),
        pytest.param(
            "a = f(1, 2); b = f(3, 4)\n", "f($A, $B)", "g($B, $A)", "a = g(2, 1); b = g(4, 3)\n", id="one line"
        ),
        pytest.param("f()\n", "f($$$A)", "g($$$A)", "g()\n", id="nothing captured"),
        pytest.param("f(1)", "f($A)", "f($A)  # $A costs $ 5 or $$", "f(1)  # 1 costs $ 5 or $$", id="other dollars"),
        pytest.param(
            "def q():\n    if a:\n        b()\n        c()\n",
            "if a: $$$BODY",
            "with a:\n    $$$BODY",
            "def q():\n    with a:\n        b()\n        c()\n",
            id="lines go as deep as the match",
        ),
        pytest.param(
            "def q():\n    if a:\n        s = '''\n  kept\n'''\n        c()\n",
            "if a: $$$BODY",
            "if a:\n    if b:\n        $$$BODY",
            "def q():\n    if a:\n        if b:\n            s = '''\n  kept\n'''\n            c()\n",
            id="deeper, except for what is in a text",
        ),
        pytest.param("import a\nf(1)\n", "import a", "", "\nf(1)\n", id="replaced by nothing"),
    ],
)
async def test_replacements(app: App, tmp_path: Path, source: str, pattern: str, replacement: str, after: str) -> None:
    (tmp_path / "a.py").write_text(source)

    await value_of(
        app, f"code.rewrite(pattern={pattern!r}, replacement={replacement!r}, language='python', apply=True)"
    )

    assert (tmp_path / "a.py").read_text() == after


async def test_a_name_that_the_pattern_has_not_is_refused(app: App, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("f(1)\n")

    answer = await app.runner.run("code.rewrite(pattern='f($A)', replacement='g($B)', language='python', apply=True)")

    assert answer.is_error
    assert "the replacement uses $B, which is not in the pattern; the pattern's names are $A" in answer.text
    assert (tmp_path / "a.py").read_text() == "f(1)\n"


async def test_an_edit_over_200_files_is_one_diff_that_git_applies(app: App, tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    for number in range(200):
        file = source / f"package{number % 10}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"value{line} = {line}" for line in range(number % 20)]
        file.write_text("\n".join([*lines, f"assertEqual(f({number}), {number})", *lines, "assertEqual(1, 1)"]))
    (source / "other.py").write_text("nothing_to_do()\n")
    shutil.copytree(source, copy)
    rewrite = {
        "pattern": "assertEqual($A, $B)",
        "replacement": "assert $A == $B",
        "language": "python",
        "path": "source",
    }

    shown = await value_from(app.executor, "code.rewrite", rewrite)
    untouched = [(source / file.relative_to(copy)).read_text() == file.read_text() for file in copy.rglob("*.py")]
    git = ["git", "apply", "-p2", "--directory=copy", "-"]
    subprocess.run(git, cwd=tmp_path, input=shown["diff"].encode(), check=True)
    applied = await value_from(app.executor, "code.rewrite", {**rewrite, "apply": True})

    assert (shown["files"], shown["matches"], shown["written"]) == (200, 400, [])
    assert (len(untouched), all(untouched)) == (201, True)
    assert (applied["diff"], len(applied["written"]), applied["not_written"]) == (shown["diff"], 200, [])
    for file in source.rglob("*.py"):
        assert "assertEqual" not in file.read_text()
        assert file.read_text() == (copy / file.relative_to(source)).read_text()
