"""The examples of the pages about git and ripgrep run in their order, in a repository that two people wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.engine import answer_of, open_engine
from tests.packs.git.hostile_repository import git

PAGES = Path(__file__).parents[3] / "docs" / "packs"


def write_repository(folder: Path) -> None:
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "src").mkdir()
    (folder / "README.md").write_text("A project\n")
    (folder / "notes.md").write_text("Notes\n")
    (folder / "src" / "a.py").write_text("# a\n\n# TODO one\ndef parse(text):\n    return open(text)\n# TODO two\n")
    git(folder, "add", "README.md", "notes.md", "src")
    git(folder, "commit", "--quiet", "-m", "Begin")
    (folder / "src" / "b.py").write_text("# TODO three\n")
    (folder / "src" / "a.py").write_text("# a\n\n# TODO one\ndef parse(text):\n    return open(text)\n# TODO second\n")
    git(folder, "add", "src")
    git(folder, "commit", "--quiet", "-m", "Go on", environ={"GIT_AUTHOR_NAME": "Grace", "GIT_AUTHOR_EMAIL": "g@x.org"})
    (folder / "README.md").write_text("My project\n")


@pytest.mark.parametrize("page", ["git", "ripgrep"])
async def test_the_examples_of_the_page_run(tmp_path: Path, page: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", (PAGES / f"{page}.md").read_text(), re.DOTALL)
    async with open_engine(tmp_path) as app:
        write_repository(tmp_path)
        answers = [yaml.safe_load(await answer_of(app, example)) for example in examples]

    if page == "git":
        assert answers[0][0] == "main"
        assert "README.md" in answers[0][1]
        assert [subject for _, _, subject in answers[1]] == ["Go on", "Begin"]
        assert answers[2][0] == 3
        assert answers[3][-1] == "# TODO two"
        assert answers[4] == [["Grace", 2], ["Ada", 1]]
    else:
        assert len(answers[0]) == 3
        assert answers[1] == [["", "# TODO one"], ["    return open(text)", "# TODO second"]]
        assert answers[2] == [{"path": "src/a.py", "count": 1}]
        assert answers[3] == 1
