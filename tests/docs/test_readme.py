"""Nothing stands in the README that does not work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine import open_engine

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", README, re.DOTALL)


@pytest.mark.anyio
async def test_the_run_has_the_answer_that_is_shown(tmp_path: Path) -> None:
    async with open_engine(tmp_path, demo=False) as app:
        answer = await app.runner.run(blocks("python")[0])
        mistake = await app.runner.run('scaffold.extention(name="weather")')

    assert [answer.text, mistake.text] == blocks("text")


def test_the_commands_for_a_shell_work_for_a_newcomer(tmp_path: Path) -> None:
    [line] = [line for line in README.splitlines() if line.startswith("The same from a shell")]

    listed = [run_in_shell(command, tmp_path) for command in re.findall(r"`(onetool [^`]+)`", line)]

    assert len(listed) == 3
    assert all("proj" in text for text in listed)


@pytest.mark.anyio
async def test_the_pack_works_as_its_own_example_says(tmp_path: Path) -> None:
    async with open_engine(tmp_path, packs={"greet": blocks("python")[1]}) as app:
        example = app.registry.get("greet.hello").docs.example
        answer = await app.runner.run(example)
        mistake = await app.runner.run("greet.hello(name='Ada', language='xx')")

    assert answer.text == "Guten Tag, Ada!"
    assert "there are en, de" in mistake.text
    assert not app.problems


def test_the_commands_about_extensions_do_what_stands_beside_them(tmp_path: Path) -> None:
    [commands] = [block for block in blocks("sh") if "onetool" in block]
    (new, file), (call, greeting) = [line.split("#") for line in commands.splitlines()]

    written = run_in_shell(new, tmp_path)

    assert file.strip().partition(",")[0] in written
    assert run_in_shell(call, tmp_path) == f"{greeting.strip()}\n"


def run_in_shell(command: str, folder: Path) -> str:
    """What a command prints for a person whose home is this folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_clients_block_starts_a_program_that_setup_installs() -> None:
    server = json.loads(blocks("json")[0])["mcpServers"]["onetool"]
    program = Path(server["command"].replace("/path/to/onetool", str(ROOT)))

    assert program.exists()
    assert server["args"] == ["serve"]


def test_every_command_and_page_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert all(f"\n{target}:" in makefile for target in re.findall(r"make (\w+)", README) if target != "sure")
    assert all((ROOT / page).exists() for page in re.findall(r"\]\(([^)]+)\)", README))
