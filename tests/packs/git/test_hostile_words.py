"""What callers say is never an option to git, and names of files may hold any bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import yaml

from ot.app import App
from ot.clients.caller import Caller, Choice
from tests.engine import open_engine
from tests.packs.answers import agree
from tests.packs.git.hostile_repository import new_repository

BLOB = "78981922613b2afb6025042ff6bd878ac1994e85"  # of "a" and the end of a line


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder = tmp_path_factory.mktemp("engine") / "p"
    async with open_engine(folder) as app:
        new_repository(folder / "r", {"a.txt": "a\n"})
        yield app


@pytest.mark.parametrize(
    "call",
    [
        "git.log(path='r', revision='--output={out}')",
        "git.show(path='r', revision='--output={out}')",
        "git.diff(path='r', base='--output={out}')",
        "git.diff(path='r', base='HEAD', head='--output={out}')",
        "git.blame(path='r/a.txt', revision='--contents={out}')",
        "git.switch(path='r', branch='--orphan=x')",
        "git.switch(path='r', branch='-', create=True)",
        "git.stash(path='r', message='-m')",
        "git.log(path='r', since='--output={out}')",
        "git.add(paths=['r/--chmod=+x'])",
        "git.show(path='r', revision='HEAD:a.txt')",
        "git.show(path='r', revision='{blob}')",
        "git.diff(path='r', base='{blob}', head='{blob}')",
        "git.log(path='r', revision='')",
        "git.log(path='r', query='a' * 200_000)",
        "git.add(paths=['r/' + 'a' * 200] * 20_000)",
    ],
)
async def test_arguments_cannot_pass_for_options_or_name_files(app: App, tmp_path: Path, call: str) -> None:
    out = tmp_path / "out"

    answer = await app.runner.run(call.format(out=out, blob=BLOB), caller=Caller(ask=agree))

    assert answer.is_error or "total: 0" in answer.text, answer.text
    assert not out.exists()


async def test_names_of_any_bytes_come_back_whole(tmp_path: Path) -> None:
    names = ["new\nline", "\x1b[31mred", "--output=x", ":(exclude)*", "caf\udce9", "tab\there", '"quoted"', "a -> b"]
    async with open_engine(tmp_path / "p") as app:
        repository = new_repository(tmp_path / "p" / "r", dict.fromkeys(names, "first\n"))
        for name in names:
            (repository / name).write_text("second\n")
        found = await app.runner.run(
            f"{{each['path'] for each in git.status(path='r')['changes']}} == set({['r/' + n for n in names]!r})"
        )
        compared = await app.runner.run(
            f"{{each['path'] for each in git.diff(path='r')['files']}} == set({['r/' + n for n in names]!r})"
        )
        blamed = await app.runner.run(f"[git.blame(path='r/' + name)['lines'][0]['text'] for name in {names!r}]")
        questions: list[str] = []

        async def note(question: str, choices: Sequence[Choice]) -> Choice:
            questions.append(question)
            return choices[0]

        added = await app.runner.run(f"git.add(paths={['r/' + n for n in names]!r})", caller=Caller(ask=note))

    assert found.text == compared.text == "True", found.text + compared.text
    assert yaml.safe_load(blamed.text) == ["second"] * len(names)
    assert not added.is_error, added.text
    assert len(questions[0].splitlines()) == len(names) + 4  # the question, a list of files, the repository
    assert "\x1b" not in questions[0]
