"""Nothing stands in the README that does not work."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine import open_engine
from tests.page_shell import run_commands, write_programs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

Shell = Callable[[str], str]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs a command for a person whose home is the test's folder."""
    programs = write_programs(tmp_path / "programs")
    return lambda command: run_commands(command, tmp_path, home=tmp_path, programs=programs)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", README, re.DOTALL)


@pytest.mark.anyio
async def test_the_run_has_the_answer_that_is_shown(tmp_path: Path) -> None:
    async with open_engine(tmp_path, demo=False) as app:
        answer = await app.runner.run(blocks("python")[0])
        mistake = await app.runner.run('scaffold.extention(name="weather")')

    assert [answer.text, mistake.text] == blocks("text")


def test_the_commands_for_a_shell_work_for_a_newcomer(shell: Shell) -> None:
    [line] = [line for line in README.splitlines() if line.startswith("The same from a shell")]

    listed = [shell(command) for command in re.findall(r"`(onetool [^`]+)`", line)]

    assert len(listed) == 3
    assert all("proj" in text for text in listed)


def test_the_pack_works_where_the_readme_puts_it(shell: Shell, tmp_path: Path) -> None:
    [place] = re.findall(r"Save this as `~/(\S+)`", README)
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text(blocks("python")[1])
    [(call, greeting)] = re.findall(r"^(onetool call .*?) +# (.*)$", README, re.MULTILINE)

    assert shell(call) == f"{greeting}\n"
    assert "there are en, de" in shell(f"{call}xx 2>&1 || true")


def test_a_new_pack_is_written_where_the_readme_says(shell: Shell) -> None:
    [command] = re.findall(r"`(onetool new pack \w+)`", README)

    assert "wrote .onetool/tools/" in shell(command)


def test_the_clients_block_starts_a_program_that_the_install_puts_on_the_path() -> None:
    server = json.loads(blocks("json")[0])["mcpServers"]["onetool"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert server == {"command": "onetool", "args": ["serve"]}
    assert server["command"] in project["scripts"]


def test_every_extra_that_is_named_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = ",".join(re.findall(r"'\.\[([\w,]+)\]'", README)).split(",")

    assert set(named) <= set(project["optional-dependencies"])
    assert "all" in named


def test_every_command_and_page_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert all(f"\n{target}:" in makefile for target in re.findall(r"make (\w+)", README) if target != "sure")
    assert all((ROOT / page).exists() for page in re.findall(r"\]\(([^)]+)\)", README))
